//! What parsing leaves: where each entry and tensor lies. A few words for each, whatever the file's values hold.

use super::cursor::Cursor;
use super::error::{Fault, GgufError, Place};
use super::kind::GgmlType;
use super::value::ValueType;
use std::cmp::Ordering;
use std::path::PathBuf;

/// One metadata entry. Its key and value are read from the file's bytes again when they are asked for: copying them would cost more
/// memory than the file.
pub(super) struct KeyEntry {
    /// Where the entry begins.
    pub(super) at: usize,
    /// Bytes of its key.
    pub(super) len: u16,
    pub(super) ty: ValueType,
}

impl KeyEntry {
    /// The key, with the length before it.
    pub(super) fn key<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        string(bytes, self.at, usize::from(self.len))
    }

    /// Where its value begins: after the key's length, the key and the type.
    pub(super) fn value_at(&self) -> usize {
        self.at + 8 + usize::from(self.len) + 4
    }
}

/// One tensor.
pub(super) struct TensorEntry {
    /// Where its description begins.
    pub(super) at: usize,
    /// Where its data begins.
    pub(super) start: usize,
    /// Bytes of its data.
    pub(super) bytes: usize,
    /// Bytes of its name.
    pub(super) len: u8,
    /// How many dimensions, 1 to 4.
    pub(super) rank: u8,
    pub(super) kind: GgmlType,
}

impl TensorEntry {
    pub(super) fn name<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        string(bytes, self.at, usize::from(self.len))
    }

    /// The dimensions, fastest first, as the file has them; ones after the last.
    pub(super) fn dims(&self, bytes: &[u8]) -> [u64; 4] {
        let mut cursor = Cursor::new(bytes, self.at + 8 + usize::from(self.len) + 4);
        let mut dims = [1; 4];
        for dim in &mut dims[..usize::from(self.rank)] {
            *dim = cursor.u64("a dimension").unwrap_or(1);
        }
        dims
    }
}

/// `len` bytes after the length at `at`. Both were checked when the file was parsed; empty where the bytes are others.
fn string(bytes: &[u8], at: usize, len: usize) -> &[u8] {
    bytes.get(at + 8..at + 8 + len).unwrap_or_default()
}

/// Where everything lies in a file that was parsed.
pub(super) struct Index {
    /// Empty where the bytes come from no file.
    pub(super) file: PathBuf,
    pub(super) version: u32,
    pub(super) alignment: u64,
    /// Where the data section begins; at most the file's length.
    pub(super) data: usize,
    pub(super) keys: Vec<KeyEntry>,
    /// Numbers of entries by key. Sorted instead of hashed: a third of the memory, and nothing that chosen keys could degrade.
    pub(super) keys_by_name: Vec<u32>,
    pub(super) tensors: Vec<TensorEntry>,
    pub(super) tensors_by_name: Vec<u32>,
}

impl Index {
    pub(super) fn key(&self, bytes: &[u8], key: &str) -> Option<&KeyEntry> {
        let compared = |n: &u32| self.keys[*n as usize].key(bytes).cmp(key.as_bytes());
        let found = self.keys_by_name.binary_search_by(compared).ok()?;
        Some(&self.keys[self.keys_by_name[found] as usize])
    }

    pub(super) fn tensor(&self, bytes: &[u8], name: &str) -> Option<&TensorEntry> {
        let compared = |n: &u32| self.tensors[*n as usize].name(bytes).cmp(name.as_bytes());
        let found = self.tensors_by_name.binary_search_by(compared).ok()?;
        Some(&self.tensors[self.tensors_by_name[found] as usize])
    }

    /// An error about this file.
    pub(super) fn error(&self, fault: Fault, place: Place) -> GgufError {
        GgufError {
            file: self.file.clone(),
            ..fault.within(place)
        }
    }
}

/// The numbers of `count` items in the order that `compare` gives, equal ones in the order of the file.
pub(super) fn sorted(count: usize, compare: impl Fn(usize, usize) -> Ordering) -> Vec<u32> {
    // The counts were held against u32 when they were read.
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_unstable_by(|a, b| compare(*a as usize, *b as usize).then(a.cmp(b)));
    order
}

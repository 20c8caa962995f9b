//! What a parsed file holds.

use super::cursor::Cursor;
use super::error::{Fault, GgufError, GgufProblem, Place, shortened};
use super::index::{Index, KeyEntry};
use super::kind::GgmlType;
use super::parse::parse;
use super::tensor::{Tensor, TensorInfo};
use super::value::{Value, read};
use std::fmt;
use std::sync::Arc;

/// The contents of a GGUF file: metadata by key and tensors by name, borrowed from the file's bytes.
///
/// A clone shares the index and costs one atomic addition; what the getters give lives as long as the bytes, not only as long
/// as this. May be used from any thread. The typed getters are in [`getters`](Gguf#method.u32).
#[derive(Clone)]
pub struct Gguf<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) index: Arc<Index>,
}

impl<'a> Gguf<'a> {
    /// Parses a whole GGUF file, version 2 or 3, little-endian, that lies in memory.
    ///
    /// Everything but the tensors' data is read once and checked; the data are checked to lie in the file, aligned, and apart
    /// from one another. Takes time in proportion to the metadata's size (times a logarithm of the number of keys and of
    /// tensors), and memory of less than twice the size of `bytes`, whatever they claim: usually some tens of bytes for each
    /// key and tensor.
    ///
    /// # Errors
    /// The first fault found, with its place. Strings in values are not checked to be text; the getters do.
    pub fn parse(bytes: &'a [u8]) -> Result<Gguf<'a>, GgufError> {
        let index = Arc::new(parse(bytes)?);
        Ok(Gguf { bytes, index })
    }

    /// The format's version: 2 or 3, which are the same for little-endian files.
    pub fn version(&self) -> u32 {
        self.index.version
    }

    /// What tensors' offsets are multiples of, in bytes: a power of two of at least 8.
    pub fn alignment(&self) -> u64 {
        self.index.alignment
    }

    /// Where the data section begins, in bytes from the file's start.
    pub fn data_start(&self) -> u64 {
        self.index.data as u64
    }

    /// Every metadata entry in the order of the file. Each string and array of a value is walked once.
    pub fn metadata(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        self.index.keys.iter().filter_map(|entry| {
            // Neither fails but where the file changed since it was parsed.
            let key = str::from_utf8(entry.key(self.bytes)).ok()?;
            Some((key, self.read(entry).ok()?))
        })
    }

    /// How many metadata entries there are.
    pub fn metadata_len(&self) -> usize {
        self.index.keys.len()
    }

    /// The value of a key, of whatever type. `None` where the file does not have it.
    pub fn value(&self, key: &str) -> Option<Value<'a>> {
        let entry = self.index.key(self.bytes, key)?;
        self.read(entry).ok()
    }

    /// Every tensor in the order of the file, of any type.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = TensorInfo<'a>> {
        let bytes = self.bytes;
        let entries = self.index.tensors.iter();
        entries.map(move |entry| TensorInfo::of(entry, bytes))
    }

    /// The description of a tensor, of any type. `None` where the file does not have it.
    pub fn info(&self, name: &str) -> Option<TensorInfo<'a>> {
        let entry = self.index.tensor(self.bytes, name)?;
        Some(TensorInfo::of(entry, self.bytes))
    }

    /// A tensor, ready for use.
    ///
    /// # Errors
    /// The file does not have it, or its type has no dtype.
    pub fn tensor(&self, name: &str) -> Result<Tensor<'a>, GgufError> {
        let error = |at, problem| GgufError {
            file: self.index.file.clone(),
            at,
            place: Place::Tensor(shortened(name)),
            problem: Box::new(problem),
        };
        let Some(entry) = self.index.tensor(self.bytes, name) else {
            let tensors = self.index.tensors.len();
            return Err(error(None, GgufProblem::MissingTensor { tensors }));
        };
        let Some(dtype) = entry.kind.dtype() else {
            let kind = entry.kind.name();
            let with: Vec<&str> = GgmlType::all()
                .filter(|k| k.dtype().is_some())
                .map(GgmlType::name)
                .collect();
            let wanted = with.join(", ");
            let at = Some(entry.at as u64);
            return Err(error(at, GgufProblem::NoDtype { kind, wanted }));
        };
        let info = TensorInfo::of(entry, self.bytes);
        Ok(Tensor { info, dtype })
    }

    /// The value of an entry, with its place for what else is wrong with it.
    pub(super) fn read(&self, entry: &KeyEntry) -> Result<Value<'a>, Fault> {
        read(&mut Cursor::new(self.bytes, entry.value_at()), entry.ty, 0)
    }
}

impl fmt::Debug for Gguf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gguf")
            .field("file", &self.index.file)
            .field("version", &self.index.version)
            .field("metadata", &self.index.keys.len())
            .field("tensors", &self.index.tensors.len())
            .finish_non_exhaustive()
    }
}

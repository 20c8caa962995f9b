//! Tensors of a file: their descriptions, and their bytes.

use super::index::TensorEntry;
use super::kind::GgmlType;
use overt::DType;
use std::ops::Range;

/// A tensor as the file describes it, of any type.
#[derive(Clone, Copy, PartialEq)]
pub struct TensorInfo<'a> {
    name: &'a str,
    kind: GgmlType,
    shape: [i64; 4],
    rank: usize,
    start: u64,
    bytes: &'a [u8],
}

impl<'a> TensorInfo<'a> {
    pub(super) fn of(entry: &TensorEntry, file: &'a [u8]) -> TensorInfo<'a> {
        let rank = usize::from(entry.rank);
        let dims = entry.dims(file);
        let mut shape = [1; 4];
        for (to, dim) in shape.iter_mut().zip(dims[..rank].iter().rev()) {
            // Held against i64 when the file was parsed.
            *to = *dim as i64;
        }
        TensorInfo {
            // Checked when the file was parsed, and again since the bytes can change under a mapping.
            name: str::from_utf8(entry.name(file)).unwrap_or_default(),
            kind: entry.kind,
            shape,
            rank,
            start: entry.start as u64,
            bytes: file
                .get(entry.start..entry.start + entry.bytes)
                .unwrap_or_default(),
        }
    }

    /// Its name, of at most 64 bytes.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Its type as the file has it.
    pub fn kind(&self) -> GgmlType {
        self.kind
    }

    /// Its extents in elements, 1 to 4 of them, each at least 1, slowest dimension first as Overt's views have them: a matrix is
    /// `[rows, columns]`, and the elements of a row lie side by side. (The file has them in the other order.)
    pub fn shape(&self) -> &[i64] {
        &self.shape[..self.rank]
    }

    /// How many elements it has; at most `i64::MAX`.
    pub fn elements(&self) -> u64 {
        // The product fitted when the file was parsed.
        self.shape()
            .iter()
            .fold(1, |n, d| n.wrapping_mul(*d as u64))
    }

    /// Its data: dense, rows of whole blocks, little-endian. Begins at a multiple of the file's alignment, counted from the
    /// file's start.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where its data lies, in bytes from the file's start.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start + self.bytes.len() as u64
    }
}

impl std::fmt::Debug for TensorInfo<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {} {:?} at {}",
            self.name,
            self.kind,
            self.shape(),
            self.start
        )
    }
}

/// A tensor whose type is one of Overt's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tensor<'a> {
    pub(super) info: TensorInfo<'a>,
    pub(super) dtype: DType,
}

impl<'a> Tensor<'a> {
    /// The whole description.
    pub fn info(&self) -> TensorInfo<'a> {
        self.info
    }

    /// Its name.
    pub fn name(&self) -> &'a str {
        self.info.name
    }

    /// Its element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its extents, as [`TensorInfo::shape`] has them.
    pub fn shape(&self) -> &[i64] {
        self.info.shape()
    }

    /// Its data, as [`TensorInfo::bytes`] has them.
    pub fn bytes(&self) -> &'a [u8] {
        self.info.bytes
    }

    /// Where its data lies, in bytes from the file's start: what [`GgufFile::release`](super::GgufFile::release) takes.
    pub fn range(&self) -> Range<u64> {
        self.info.range()
    }
}

//! Reading any element type by element offset.

use super::blocks::BlockFormat;
use super::element::Element;
use super::error::HostError;
use crate::dtype::Shown;
use overt_abi::OvertDType;

/// How elements lie: each with bytes of its own, or many in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Each element has bytes of its own.
    Plain(Element),
    /// Elements share blocks.
    Blocks(BlockFormat),
}

impl Storage {
    /// How this type is stored.
    ///
    /// # Errors
    /// [`HostError::Element`] for a type without a name.
    pub fn of(dtype: OvertDType) -> Result<Self, HostError> {
        let plain = Element::of(dtype).map(Storage::Plain);
        plain
            .or_else(|| BlockFormat::of(dtype).map(Storage::Blocks))
            .ok_or_else(|| HostError::Element {
                dtype: Shown(dtype).to_string(),
                why: "it is not a type that is known here",
            })
    }

    /// Elements that are stored together, 1 for plain types, and their bytes.
    pub fn unit(self) -> (usize, usize) {
        match self {
            Storage::Plain(element) => (1, element.bytes()),
            Storage::Blocks(format) => {
                let block = format.block();
                (block.elements as usize, block.bytes as usize)
            }
        }
    }

    /// Whether elements are floats. Those of block formats are.
    pub fn is_float(self) -> bool {
        match self {
            Storage::Plain(element) => element.is_float(),
            Storage::Blocks(_) => true,
        }
    }
}

/// Reads elements of one tensor by element offset, with its type looked up once.
///
/// In a block format an offset counts elements too: blocks follow one another from offset 0 on, since strides step over whole
/// blocks.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    storage: Storage,
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads `bytes`, whose first element is at byte 0, as elements of this type.
    ///
    /// # Errors
    /// As [`Storage::of`].
    pub fn of(dtype: OvertDType, bytes: &'a [u8]) -> Result<Self, HostError> {
        Ok(Reader {
            storage: Storage::of(dtype)?,
            bytes,
        })
    }

    /// The element at an offset in elements from the first.
    ///
    /// # Panics
    /// When the offset is outside the tensor's memory.
    #[inline]
    pub fn at(&self, offset: i64) -> f64 {
        let (slot, within) = self.slot(offset);
        match self.storage {
            Storage::Plain(element) => element.read_f64(slot),
            Storage::Blocks(format) => format.value(slot, within),
        }
    }

    /// The element as an integer, see [`Element::read_i64`]; that of a block cut towards zero.
    ///
    /// # Panics
    /// When the offset is outside the tensor's memory.
    #[inline]
    pub fn integer(&self, offset: i64) -> i64 {
        match self.storage {
            Storage::Plain(element) => element.read_i64(self.slot(offset).0),
            Storage::Blocks(_) => self.at(offset) as i64,
        }
    }

    /// Reads elements at `offset`, `offset + stride`, … until `out` is full.
    ///
    /// # Panics
    /// When an offset is outside the tensor's memory.
    pub fn run(&self, offset: i64, stride: i64, out: &mut [f64]) {
        for (i, value) in out.iter_mut().enumerate() {
            *value = self.at(offset + i as i64 * stride);
        }
    }

    /// The bytes that hold an element, and its number in them.
    #[inline]
    fn slot(&self, offset: i64) -> (&'a [u8], usize) {
        let (elements, bytes) = self.storage.unit();
        let offset = usize::try_from(offset).expect("an element offset is not negative");
        let start = offset / elements * bytes;
        (&self.bytes[start..start + bytes], offset % elements)
    }
}

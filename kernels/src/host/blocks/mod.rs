//! Block formats: several elements that share scales. The layouts and their meaning are those of GGUF files.
//!
//! A decoded element is the exact number that the block's scales and codes stand for. As f32 it is what the format's own
//! library decodes, bit for bit, which a table of that library's bytes holds (`kernels/tests/gguf_vectors.py`).
//!
//! Encoding is that library's own for `q8_0`, `q4_0`, `q4_1`, `q5_0` and `q5_1`. For the formats of 256 elements and `mxfp4`,
//! whose own encoders search, it is a plain one whose blocks are valid: scales from each group's extremes, codes to nearest.

mod groups;
mod mxfp4;
mod small;

use crate::dtype::{self, Block};
use overt_abi::OvertDType;

/// A block format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockFormat {
    /// 32 signed 8-bit codes times an f16 scale.
    Q8_0,
    /// 32 codes 0..16 less 8, times an f16 scale.
    Q4_0,
    /// 32 codes 0..16 times an f16 scale, plus an f16 minimum.
    Q4_1,
    /// 32 codes 0..32 less 16, times an f16 scale.
    Q5_0,
    /// 32 codes 0..32 times an f16 scale, plus an f16 minimum.
    Q5_1,
    /// 256 codes 0..16 in groups of 32, with 6-bit scales and minima under two f16 scales.
    Q4K,
    /// 256 codes 0..32 in groups of 32, with 6-bit scales and minima under two f16 scales.
    Q5K,
    /// 256 codes 0..64 less 32 in groups of 16, with signed 8-bit scales under an f16 scale.
    Q6K,
    /// 32 e2m1 codes under a power of two.
    Mxfp4,
}

impl BlockFormat {
    /// The format of this type; `None` for types whose elements have bytes of their own.
    pub fn of(dtype: OvertDType) -> Option<Self> {
        Some(match dtype {
            dtype::Q8_0 => Self::Q8_0,
            dtype::Q4_0 => Self::Q4_0,
            dtype::Q4_1 => Self::Q4_1,
            dtype::Q5_0 => Self::Q5_0,
            dtype::Q5_1 => Self::Q5_1,
            dtype::Q4_K => Self::Q4K,
            dtype::Q5_K => Self::Q5K,
            dtype::Q6_K => Self::Q6K,
            dtype::MXFP4 => Self::Mxfp4,
            _ => return None,
        })
    }

    /// Elements and bytes of one block.
    pub fn block(self) -> Block {
        let (elements, bytes) = match self {
            Self::Q8_0 => (32, 34),
            Self::Q4_0 => (32, 18),
            Self::Q4_1 => (32, 20),
            Self::Q5_0 => (32, 22),
            Self::Q5_1 => (32, 24),
            Self::Q4K => (256, 144),
            Self::Q5K => (256, 176),
            Self::Q6K => (256, 210),
            Self::Mxfp4 => (32, 17),
        };
        Block { elements, bytes }
    }

    /// One element of a block, exactly.
    ///
    /// # Panics
    /// When `block` is shorter than a block or `i` is not in it.
    pub fn value(self, block: &[u8], i: usize) -> f64 {
        assert!(i < self.block().elements as usize, "element {i} of a block");
        match self {
            Self::Q8_0 => small::q8_0(block, i),
            Self::Q4_0 => small::q4_0(block, i),
            Self::Q4_1 => small::q4_1(block, i),
            Self::Q5_0 => small::q5_0(block, i),
            Self::Q5_1 => small::q5_1(block, i),
            Self::Q4K => groups::q4_k(block, i),
            Self::Q5K => groups::q5_k(block, i),
            Self::Q6K => groups::q6_k(block, i),
            Self::Mxfp4 => mxfp4::value(block, i),
        }
    }

    /// Makes one block of as many values as it has elements. They are rounded to f32 first, in which the formats are defined. A
    /// block with a value that is not finite has no meaning; its bytes are then unspecified.
    ///
    /// # Panics
    /// When the lengths are not those of one block.
    pub fn encode(self, values: &[f64], block: &mut [u8]) {
        let size = self.block();
        assert_eq!(values.len() as u64, size.elements, "values of one block");
        assert_eq!(block.len() as u64, size.bytes, "bytes of one block");
        let values: Vec<f32> = values.iter().map(|&v| v as f32).collect();
        match self {
            Self::Q8_0 => small::encode_q8_0(&values, block),
            Self::Q4_0 => small::encode_symmetric(&values, block, 4),
            Self::Q4_1 => small::encode_with_minimum(&values, block, 4),
            Self::Q5_0 => small::encode_symmetric(&values, block, 5),
            Self::Q5_1 => small::encode_with_minimum(&values, block, 5),
            Self::Q4K => groups::encode_with_minima(&values, block, 4),
            Self::Q5K => groups::encode_with_minima(&values, block, 5),
            Self::Q6K => groups::encode_q6_k(&values, block),
            Self::Mxfp4 => mxfp4::encode(&values, block),
        }
    }
}

/// The f16 at a byte.
fn half(block: &[u8], at: usize) -> f64 {
    super::element::Element::F16.read_f64(&block[at..at + 2])
}

/// Stores an f16 at a byte, rounded to nearest even.
fn set_half(block: &mut [u8], at: usize, value: f32) {
    super::element::Element::F16.write_f64(&mut block[at..at + 2], f64::from(value));
}

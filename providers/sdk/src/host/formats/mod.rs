//! Element types that are narrower than 16 bits, decoded and encoded for kernels.
//!
//! Written apart from the code by which answers are checked (`overt_kernels::host`), with other means, so that a fault in one
//! does not hide the same fault in the other.

mod fp8;
mod quantise;
mod unpack;

use crate::dtypes::{
    FP8_E4M3FN, FP8_E4M3FNUZ, FP8_E5M2, FP8_E5M2FNUZ, MXFP4, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K,
    Q6_K, Q8_0,
};
use overt_abi::OvertDType;

/// An 8-bit float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fp8 {
    E4m3fn,
    E4m3fnuz,
    E5m2,
    E5m2fnuz,
}

impl Fp8 {
    pub(crate) fn of(dtype: OvertDType) -> Option<Self> {
        match dtype {
            FP8_E4M3FN => Some(Self::E4m3fn),
            FP8_E4M3FNUZ => Some(Self::E4m3fnuz),
            FP8_E5M2 => Some(Self::E5m2),
            FP8_E5M2FNUZ => Some(Self::E5m2fnuz),
            _ => None,
        }
    }

    pub(crate) fn decode(self, bits: u8) -> f64 {
        fp8::decode(self, bits)
    }

    /// To nearest even; finite numbers that are too large become the largest.
    pub(crate) fn encode(self, value: f64) -> u8 {
        fp8::encode(self, value)
    }
}

/// A block format of GGUF files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocks {
    Q8_0,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q4K,
    Q5K,
    Q6K,
    Mxfp4,
}

/// Most bytes of a block.
pub(crate) const MOST_BYTES: usize = 210;
/// Most elements of a block.
pub(crate) const MOST_ELEMENTS: usize = 256;

impl Blocks {
    pub(crate) fn of(dtype: OvertDType) -> Option<Self> {
        match dtype {
            Q8_0 => Some(Self::Q8_0),
            Q4_0 => Some(Self::Q4_0),
            Q4_1 => Some(Self::Q4_1),
            Q5_0 => Some(Self::Q5_0),
            Q5_1 => Some(Self::Q5_1),
            Q4_K => Some(Self::Q4K),
            Q5_K => Some(Self::Q5K),
            Q6_K => Some(Self::Q6K),
            MXFP4 => Some(Self::Mxfp4),
            _ => None,
        }
    }

    /// Elements and bytes of a block.
    pub(crate) const fn size(self) -> (usize, usize) {
        match self {
            Self::Q8_0 => (32, 2 + 32),
            Self::Q4_0 => (32, 2 + 16),
            Self::Q4_1 => (32, 4 + 16),
            Self::Q5_0 => (32, 2 + 4 + 16),
            Self::Q5_1 => (32, 4 + 4 + 16),
            Self::Mxfp4 => (32, 1 + 16),
            Self::Q4K => (256, 4 + 12 + 128),
            Self::Q5K => (256, 4 + 12 + 32 + 128),
            Self::Q6K => (256, 128 + 64 + 16 + 2),
        }
    }

    /// Decodes one block. The slices have [`Self::size`].
    pub(crate) fn unpack(self, block: &[u8], out: &mut [f64]) {
        unpack::unpack(self, block, out);
    }

    /// Quantises one block as the format's reference does, in f32. `false`, and nothing written, for the formats that have no
    /// such quantiser here. The slices have [`Self::size`].
    pub(crate) fn pack(self, values: &[f32], block: &mut [u8]) -> bool {
        quantise::pack(self, values, block)
    }
}

#[cfg(test)]
mod tests;

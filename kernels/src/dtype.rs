//! Element types: names, sizes, constants.

use overt_abi::*;
use std::fmt;

const fn plain(code: u8, bits: u8) -> OvertDType {
    OvertDType {
        code,
        bits,
        lanes: 1,
    }
}

/// IEEE 754 binary64.
pub const F64: OvertDType = plain(OVERT_DTYPE_FLOAT, 64);
/// IEEE 754 binary32.
pub const F32: OvertDType = plain(OVERT_DTYPE_FLOAT, 32);
/// IEEE 754 binary16.
pub const F16: OvertDType = plain(OVERT_DTYPE_FLOAT, 16);
/// bfloat16: the upper half of a binary32.
pub const BF16: OvertDType = plain(OVERT_DTYPE_BFLOAT, 16);
/// Signed 64-bit integer.
pub const I64: OvertDType = plain(OVERT_DTYPE_INT, 64);
/// Signed 32-bit integer.
pub const I32: OvertDType = plain(OVERT_DTYPE_INT, 32);
/// Signed 16-bit integer.
pub const I16: OvertDType = plain(OVERT_DTYPE_INT, 16);
/// Signed 8-bit integer.
pub const I8: OvertDType = plain(OVERT_DTYPE_INT, 8);
/// Unsigned 64-bit integer.
pub const U64: OvertDType = plain(OVERT_DTYPE_UINT, 64);
/// Unsigned 32-bit integer.
pub const U32: OvertDType = plain(OVERT_DTYPE_UINT, 32);
/// Unsigned 16-bit integer.
pub const U16: OvertDType = plain(OVERT_DTYPE_UINT, 16);
/// Unsigned 8-bit integer.
pub const U8: OvertDType = plain(OVERT_DTYPE_UINT, 8);
/// Truth value in 8 bits.
pub const BOOL: OvertDType = plain(OVERT_DTYPE_BOOL, 8);
/// 8-bit float e4m3, finite, largest value 448.
pub const FP8_E4M3FN: OvertDType = plain(OVERT_DTYPE_FP8_E4M3FN, 8);
/// 8-bit float e4m3 with bias 8 and no negative zero, largest value 240.
pub const FP8_E4M3FNUZ: OvertDType = plain(OVERT_DTYPE_FP8_E4M3FNUZ, 8);
/// 8-bit float e5m2 with infinities.
pub const FP8_E5M2: OvertDType = plain(OVERT_DTYPE_FP8_E5M2, 8);
/// 8-bit float e5m2 with bias 16 and no negative zero.
pub const FP8_E5M2FNUZ: OvertDType = plain(OVERT_DTYPE_FP8_E5M2FNUZ, 8);
/// Block format of 32 elements in 34 bytes.
pub const Q8_0: OvertDType = plain(OVERT_DTYPE_Q8_0, 0);
/// Block format of 32 elements in 18 bytes.
pub const Q4_0: OvertDType = plain(OVERT_DTYPE_Q4_0, 0);
/// Block format of 32 elements in 20 bytes.
pub const Q4_1: OvertDType = plain(OVERT_DTYPE_Q4_1, 0);
/// Block format of 32 elements in 22 bytes.
pub const Q5_0: OvertDType = plain(OVERT_DTYPE_Q5_0, 0);
/// Block format of 32 elements in 24 bytes.
pub const Q5_1: OvertDType = plain(OVERT_DTYPE_Q5_1, 0);
/// Block format of 256 elements in 144 bytes.
pub const Q4_K: OvertDType = plain(OVERT_DTYPE_Q4_K, 0);
/// Block format of 256 elements in 176 bytes.
pub const Q5_K: OvertDType = plain(OVERT_DTYPE_Q5_K, 0);
/// Block format of 256 elements in 210 bytes.
pub const Q6_K: OvertDType = plain(OVERT_DTYPE_Q6_K, 0);
/// Block format of 32 elements in 17 bytes.
pub const MXFP4: OvertDType = plain(OVERT_DTYPE_MXFP4, 0);

/// What is stored of a type at a time: `elements` elements in `bytes` bytes. Plain types have one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Elements of one block.
    pub elements: u64,
    /// Bytes of one block.
    pub bytes: u64,
}

struct Row {
    dtype: OvertDType,
    name: &'static str,
    block: Block,
}

const fn row(dtype: OvertDType, name: &'static str, elements: u64, bytes: u64) -> Row {
    Row {
        dtype,
        name,
        block: Block { elements, bytes },
    }
}

const TABLE: &[Row] = &[
    row(F64, "f64", 1, 8),
    row(F32, "f32", 1, 4),
    row(F16, "f16", 1, 2),
    row(BF16, "bf16", 1, 2),
    row(I64, "i64", 1, 8),
    row(I32, "i32", 1, 4),
    row(I16, "i16", 1, 2),
    row(I8, "i8", 1, 1),
    row(U8, "u8", 1, 1),
    row(U16, "u16", 1, 2),
    row(U32, "u32", 1, 4),
    row(U64, "u64", 1, 8),
    row(BOOL, "bool", 1, 1),
    row(FP8_E4M3FN, "fp8_e4m3fn", 1, 1),
    row(FP8_E4M3FNUZ, "fp8_e4m3fnuz", 1, 1),
    row(FP8_E5M2, "fp8_e5m2", 1, 1),
    row(FP8_E5M2FNUZ, "fp8_e5m2fnuz", 1, 1),
    row(Q8_0, "q8_0", 32, 34),
    row(Q4_0, "q4_0", 32, 18),
    row(Q4_1, "q4_1", 32, 20),
    row(Q5_0, "q5_0", 32, 22),
    row(Q5_1, "q5_1", 32, 24),
    row(Q4_K, "q4_K", 256, 144),
    row(Q5_K, "q5_K", 256, 176),
    row(Q6_K, "q6_K", 256, 210),
    row(MXFP4, "mxfp4", 32, 17),
];

/// Every element type that has a name, in the order of listings.
pub fn all() -> impl Iterator<Item = (OvertDType, &'static str)> {
    TABLE.iter().map(|r| (r.dtype, r.name))
}

/// The name of a type: `bf16`. `None` for a type that schemas cannot name.
pub fn name(dtype: OvertDType) -> Option<&'static str> {
    TABLE.iter().find(|r| r.dtype == dtype).map(|r| r.name)
}

/// The type of this name.
pub fn from_name(name: &str) -> Option<OvertDType> {
    TABLE.iter().find(|r| r.name == name).map(|r| r.dtype)
}

/// How a type is stored. `None` for a type without a name here.
pub fn block(dtype: OvertDType) -> Option<Block> {
    TABLE.iter().find(|r| r.dtype == dtype).map(|r| r.block)
}

/// Whether several elements share one block of bytes.
pub fn is_block_format(dtype: OvertDType) -> bool {
    block(dtype).is_some_and(|b| b.elements > 1)
}

/// Bytes of one element. `None` for block formats, whose elements have no bytes of their own, and for unknown types.
pub fn element_bytes(dtype: OvertDType) -> Option<u64> {
    block(dtype).filter(|b| b.elements == 1).map(|b| b.bytes)
}

/// Bytes of `elements` consecutive elements. `None` when the type is unknown, when a block format does not divide the number
/// evenly, or when the product does not fit.
pub fn bytes_for(dtype: OvertDType, elements: u64) -> Option<u64> {
    let block = block(dtype)?;
    if !elements.is_multiple_of(block.elements) {
        return None;
    }
    (elements / block.elements).checked_mul(block.bytes)
}

/// Shows a type by its name, or by its numbers where it has none: `Shown(BF16)` prints `bf16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown(pub OvertDType);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match name(self.0) {
            Some(name) => f.pad(name),
            None => {
                let OvertDType { code, bits, lanes } = self.0;
                f.pad(&format!("dtype(code {code}, bits {bits}, lanes {lanes})"))
            }
        }
    }
}

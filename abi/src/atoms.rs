//! The atoms: small values passed inline. They carry no size field and never change.

use crate::{OvertArch, OvertArchPattern};

/// UTF-8 text, pointer and length, not terminated. A zero length allows a null pointer. Unless an entry says otherwise the
/// text of a declaration lives as long as the library, and the text of an argument as long as the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertStr {
    /// First byte, or null when `len` is 0.
    pub data: *const u8,
    /// Length in bytes.
    pub len: u64,
}

/// An element type. Codes below 128 are DLPack's, with its meaning of `bits` and `lanes`. Codes from 128 up are block
/// formats: there `bits` is 0 and `lanes` is 1, and the sizes are the format's own (see the constants).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OvertDType {
    /// One of the `OVERT_DTYPE_…` codes.
    pub code: u8,
    /// Bits of one lane; 0 for block formats.
    pub bits: u8,
    /// Lanes of one element, normally 1.
    pub lanes: u16,
}

/// Signed integer.
pub const OVERT_DTYPE_INT: u8 = 0;
/// Unsigned integer.
pub const OVERT_DTYPE_UINT: u8 = 1;
/// IEEE 754 binary float: 16, 32 or 64 bits.
pub const OVERT_DTYPE_FLOAT: u8 = 2;
/// An opaque handle; carried through DLPack, computed with by nothing.
pub const OVERT_DTYPE_OPAQUE: u8 = 3;
/// bfloat16.
pub const OVERT_DTYPE_BFLOAT: u8 = 4;
/// Complex; carried through DLPack.
pub const OVERT_DTYPE_COMPLEX: u8 = 5;
/// A truth value in 8 bits.
pub const OVERT_DTYPE_BOOL: u8 = 6;
/// 8-bit float with 3 exponent bits.
pub const OVERT_DTYPE_FP8_E3M4: u8 = 7;
/// 8-bit float e4m3 with IEEE-like infinities.
pub const OVERT_DTYPE_FP8_E4M3: u8 = 8;
/// 8-bit float e4m3, bias 11, finite, unsigned zero.
pub const OVERT_DTYPE_FP8_E4M3B11FNUZ: u8 = 9;
/// 8-bit float e4m3 as the Open Compute Project defines it: no infinities, one NaN pattern a sign. Largest value 448.
pub const OVERT_DTYPE_FP8_E4M3FN: u8 = 10;
/// 8-bit float e4m3 of CDNA3: no infinities, no negative zero, bias 8. Largest value 240. Not the same type as
/// [`OVERT_DTYPE_FP8_E4M3FN`]: one byte decodes to two different numbers.
pub const OVERT_DTYPE_FP8_E4M3FNUZ: u8 = 11;
/// 8-bit float e5m2 with infinities.
pub const OVERT_DTYPE_FP8_E5M2: u8 = 12;
/// 8-bit float e5m2 of CDNA3: no infinities, no negative zero, bias 16.
pub const OVERT_DTYPE_FP8_E5M2FNUZ: u8 = 13;
/// An 8-bit exponent: a power of two, used as a scale.
pub const OVERT_DTYPE_FP8_E8M0FNU: u8 = 14;
/// 6-bit float e2m3.
pub const OVERT_DTYPE_FP6_E2M3FN: u8 = 15;
/// 6-bit float e3m2.
pub const OVERT_DTYPE_FP6_E3M2FN: u8 = 16;
/// 4-bit float e2m1.
pub const OVERT_DTYPE_FP4_E2M1FN: u8 = 17;
/// Block format: 32 elements in 34 bytes (f16 scale, 32 signed bytes).
pub const OVERT_DTYPE_Q8_0: u8 = 128;
/// Block format: 32 elements in 18 bytes (f16 scale, 32 nibbles offset by 8).
pub const OVERT_DTYPE_Q4_0: u8 = 129;
/// Block format: 32 elements in 20 bytes (f16 scale, f16 minimum, 32 nibbles).
pub const OVERT_DTYPE_Q4_1: u8 = 130;
/// Block format: 32 elements in 22 bytes (f16 scale, 32 high bits, 32 nibbles, offset by 16).
pub const OVERT_DTYPE_Q5_0: u8 = 131;
/// Block format: 32 elements in 24 bytes (f16 scale, f16 minimum, 32 high bits, 32 nibbles).
pub const OVERT_DTYPE_Q5_1: u8 = 132;
/// Block format: 256 elements in 144 bytes (f16 scale and minimum, 6-bit sub-scales, nibbles).
pub const OVERT_DTYPE_Q4_K: u8 = 133;
/// Block format: 256 elements in 176 bytes.
pub const OVERT_DTYPE_Q5_K: u8 = 134;
/// Block format: 256 elements in 210 bytes (low nibbles, high pairs, signed sub-scales, f16 scale).
pub const OVERT_DTYPE_Q6_K: u8 = 135;
/// Block format: 32 elements in 17 bytes (e8m0 scale, 32 e2m1 nibbles).
pub const OVERT_DTYPE_MXFP4: u8 = 136;

/// A typed value: of an attribute, a fact, a knob, or inside a clause. 24 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OvertValue {
    /// One of the `OVERT_VALUE_…` kinds; it says which member of `data` is live.
    pub kind: u32,
    /// Reserved, zero.
    pub reserved: u32,
    /// The value itself.
    pub data: OvertValueData,
}

/// The payload of an [`OvertValue`]. Which member is live is stated by `kind`; all others are undefined.
#[repr(C)]
#[derive(Clone, Copy)]
pub union OvertValueData {
    /// Live for [`OVERT_VALUE_BOOL`] (0 or 1) and [`OVERT_VALUE_I64`].
    pub i: i64,
    /// Live for [`OVERT_VALUE_F64`].
    pub f: f64,
    /// Live for [`OVERT_VALUE_STR`] and [`OVERT_VALUE_FACT`].
    pub s: OvertStr,
    /// Live for [`OVERT_VALUE_DTYPE`].
    pub dtype: OvertDType,
    /// Live for [`OVERT_VALUE_ARCH`].
    pub arch: *const OvertArch,
    /// Live for [`OVERT_VALUE_ARCH_PATTERN`].
    pub pattern: *const OvertArchPattern,
}

/// No value: an absent attribute, a fact that is not known.
pub const OVERT_VALUE_NONE: u32 = 0;
/// A truth value in `data.i`.
pub const OVERT_VALUE_BOOL: u32 = 1;
/// A signed integer in `data.i`.
pub const OVERT_VALUE_I64: u32 = 2;
/// A float in `data.f`.
pub const OVERT_VALUE_F64: u32 = 3;
/// Text in `data.s`.
pub const OVERT_VALUE_STR: u32 = 4;
/// An element type in `data.dtype`.
pub const OVERT_VALUE_DTYPE: u32 = 5;
/// Only inside a clause: the name of another fact, whose value is meant. So a threshold can be a knob.
pub const OVERT_VALUE_FACT: u32 = 6;
/// An architecture in `data.arch`.
pub const OVERT_VALUE_ARCH: u32 = 7;
/// Only inside a clause: a set of architectures in `data.pattern`.
pub const OVERT_VALUE_ARCH_PATTERN: u32 = 8;

/// A named value known on the host. 40 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OvertFact {
    /// The name without its scope, for example `feature.avx2`; the runtime puts `device.` before it.
    pub name: OvertStr,
    /// The value.
    pub value: OvertValue,
}

//! Single numbers in memory: decoding, and rounding to nearest even.

use super::fp8;
use crate::dtype;
use overt_abi::OvertDType;

/// How a plain element type stores a number. The little-endian byte order of memory is that of every supported host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// binary64
    F64,
    /// binary32
    F32,
    /// binary16
    F16,
    /// bfloat16
    Bf16,
    /// 8-bit float of 4 exponent bits without infinities.
    Fp8E4m3fn,
    /// 8-bit float of 4 exponent bits without infinities and negative zero.
    Fp8E4m3fnuz,
    /// 8-bit float of 5 exponent bits.
    Fp8E5m2,
    /// 8-bit float of 5 exponent bits without infinities and negative zero.
    Fp8E5m2fnuz,
    /// Signed integer of so many bytes.
    Int(u8),
    /// Unsigned integer of so many bytes.
    Uint(u8),
    /// Truth value in one byte: 0 is false, all else true.
    Bool,
}

impl Element {
    /// The way this type is stored; `None` for block formats, whose elements are no single numbers in memory
    /// ([`super::BlockFormat`]), and for types without a name.
    pub fn of(dtype: OvertDType) -> Option<Element> {
        Some(match dtype {
            dtype::F64 => Element::F64,
            dtype::F32 => Element::F32,
            dtype::F16 => Element::F16,
            dtype::BF16 => Element::Bf16,
            dtype::FP8_E4M3FN => Element::Fp8E4m3fn,
            dtype::FP8_E4M3FNUZ => Element::Fp8E4m3fnuz,
            dtype::FP8_E5M2 => Element::Fp8E5m2,
            dtype::FP8_E5M2FNUZ => Element::Fp8E5m2fnuz,
            dtype::I64 => Element::Int(8),
            dtype::I32 => Element::Int(4),
            dtype::I16 => Element::Int(2),
            dtype::I8 => Element::Int(1),
            dtype::U64 => Element::Uint(8),
            dtype::U32 => Element::Uint(4),
            dtype::U16 => Element::Uint(2),
            dtype::U8 => Element::Uint(1),
            dtype::BOOL => Element::Bool,
            _ => return None,
        })
    }

    /// Whether it is a float.
    pub fn is_float(self) -> bool {
        !matches!(self, Element::Int(_) | Element::Uint(_) | Element::Bool)
    }

    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            Element::F64 => 8,
            Element::F32 => 4,
            Element::F16 | Element::Bf16 => 2,
            Element::Int(n) | Element::Uint(n) => n as usize,
            Element::Bool => 1,
            Element::Fp8E4m3fn | Element::Fp8E4m3fnuz | Element::Fp8E5m2 | Element::Fp8E5m2fnuz => {
                1
            }
        }
    }

    /// The number in the first bytes. Exact, but for integers beyond 2^53, which round to nearest.
    ///
    /// # Panics
    /// When `bytes` is shorter than [`Element::bytes`].
    #[inline]
    pub fn read_f64(self, bytes: &[u8]) -> f64 {
        match self {
            Element::F64 => f64::from_bits(raw(bytes, 8)),
            Element::F32 => f64::from(f32::from_bits(raw(bytes, 4) as u32)),
            Element::F16 => decode(raw(bytes, 2), 5, 10),
            Element::Bf16 => decode(raw(bytes, 2), 8, 7),
            Element::Fp8E4m3fn => fp8::E4M3FN.decode(bytes[0]),
            Element::Fp8E4m3fnuz => fp8::E4M3FNUZ.decode(bytes[0]),
            Element::Fp8E5m2 => fp8::E5M2.decode(bytes[0]),
            Element::Fp8E5m2fnuz => fp8::E5M2FNUZ.decode(bytes[0]),
            Element::Uint(8) => raw(bytes, 8) as f64,
            Element::Int(_) | Element::Uint(_) | Element::Bool => self.read_i64(bytes) as f64,
        }
    }

    /// The number as an integer: floats are cut towards zero, unsigned ones beyond i64 saturate, NaN is 0.
    ///
    /// # Panics
    /// When `bytes` is shorter than [`Element::bytes`].
    #[inline]
    pub fn read_i64(self, bytes: &[u8]) -> i64 {
        match self {
            Element::Int(n) => {
                let unused = 64 - 8 * u32::from(n);
                (raw(bytes, n as usize) << unused) as i64 >> unused
            }
            Element::Uint(n) => i64::try_from(raw(bytes, n as usize)).unwrap_or(i64::MAX),
            Element::Bool => i64::from(bytes[0] != 0),
            _ => self.read_f64(bytes) as i64,
        }
    }

    /// Stores a number, rounded once to nearest, ties to even. Beyond the range of a float type it becomes an infinity, in the
    /// 8-bit floats the largest number (an infinity stays one in `e5m2` and becomes NaN in the others, which have none);
    /// integers saturate and take NaN as 0; a bool stores whether it is not 0.
    ///
    /// # Panics
    /// When `bytes` is shorter than [`Element::bytes`].
    #[inline]
    pub fn write_f64(self, bytes: &mut [u8], value: f64) {
        let pattern = match self {
            Element::F64 => value.to_bits(),
            Element::F32 => u64::from((value as f32).to_bits()),
            Element::F16 => encode(value, 5, 10),
            Element::Bf16 => encode(value, 8, 7),
            Element::Fp8E4m3fn => u64::from(fp8::E4M3FN.encode(value)),
            Element::Fp8E4m3fnuz => u64::from(fp8::E4M3FNUZ.encode(value)),
            Element::Fp8E5m2 => u64::from(fp8::E5M2.encode(value)),
            Element::Fp8E5m2fnuz => u64::from(fp8::E5M2FNUZ.encode(value)),
            Element::Uint(n) => {
                let most = u64::MAX >> (64 - 8 * u32::from(n));
                (value.round_ties_even() as u64).min(most)
            }
            Element::Int(_) => return self.write_i64(bytes, value.round_ties_even() as i64),
            Element::Bool => u64::from(value != 0.0),
        };
        let n = self.bytes();
        bytes[..n].copy_from_slice(&pattern.to_le_bytes()[..n]);
    }

    /// Stores an integer; integer types saturate, float types round as [`Element::write_f64`] does.
    ///
    /// # Panics
    /// When `bytes` is shorter than [`Element::bytes`].
    #[inline]
    pub fn write_i64(self, bytes: &mut [u8], value: i64) {
        let n = self.bytes();
        let pattern = match self {
            Element::Int(bytes) => {
                let unused = 64 - 8 * u32::from(bytes);
                value.clamp(i64::MIN >> unused, i64::MAX >> unused) as u64
            }
            Element::Uint(bytes) => {
                (value.max(0) as u64).min(u64::MAX >> (64 - 8 * u32::from(bytes)))
            }
            Element::Bool => u64::from(value != 0),
            _ => return self.write_f64(bytes, value as f64),
        };
        bytes[..n].copy_from_slice(&pattern.to_le_bytes()[..n]);
    }
}

#[inline]
fn raw(bytes: &[u8], n: usize) -> u64 {
    let mut word = [0u8; 8];
    word[..n].copy_from_slice(&bytes[..n]);
    u64::from_le_bytes(word)
}

/// Decodes a binary float of one sign bit, `exponent_bits` and `fraction_bits`, with IEEE meaning of the extreme exponents.
fn decode(bits: u64, exponent_bits: u32, fraction_bits: u32) -> f64 {
    let sign = if bits >> (exponent_bits + fraction_bits) & 1 == 1 {
        -1.0
    } else {
        1.0
    };
    let top = (1u64 << exponent_bits) - 1;
    let exponent = bits >> fraction_bits & top;
    let fraction = bits & ((1 << fraction_bits) - 1);
    let bias = (top >> 1) as i32;
    if exponent == top {
        return if fraction == 0 {
            sign * f64::INFINITY
        } else {
            f64::NAN.copysign(sign)
        };
    }
    // Both factors and their product are exact: the significand has few bits, and the power is within f64's normal range.
    let (significand, power) = if exponent == 0 {
        (fraction, 1 - bias)
    } else {
        (fraction | 1 << fraction_bits, exponent as i32 - bias)
    };
    sign * significand as f64 * power_of_two(power - fraction_bits as i32)
}

/// 2 to a power within f64's normal range.
fn power_of_two(power: i32) -> f64 {
    f64::from_bits(((power + 1023) as u64) << 52)
}

/// Rounds once from f64 to a float of one sign bit, `exponent_bits` and `fraction_bits`. Going through f32 instead would round
/// twice and miss ties.
fn encode(value: f64, exponent_bits: u32, fraction_bits: u32) -> u64 {
    let bits = value.to_bits();
    let sign = bits >> 63 << (exponent_bits + fraction_bits);
    let infinity = ((1u64 << exponent_bits) - 1) << fraction_bits;
    if value.is_nan() {
        return sign | infinity | 1 << (fraction_bits - 1);
    }
    if value.is_infinite() {
        return sign | infinity;
    }
    let bias = (1i64 << (exponent_bits - 1)) - 1;
    let exponent = (bits >> 52 & 0x7ff) as i64;
    if exponent == 0 {
        // Zero, or a subnormal f64, which lies far below half the least number of either type.
        return sign;
    }
    let exponent = exponent - 1023;
    let significand = bits & ((1 << 52) - 1) | 1 << 52;
    let least = 1 - bias;
    let below = (least - exponent).max(0);
    let shift = (52 - i64::from(fraction_bits) + below).min(63) as u32;
    let kept = significand >> shift;
    let rest = significand & ((1 << shift) - 1);
    let half = 1u64 << (shift - 1);
    let up = rest > half || rest == half && kept & 1 == 1;
    let rounded = kept + u64::from(up);
    // A carry out of the fraction moves into the exponent, which is the next number up, the infinity included.
    let base = ((exponent - least).max(0) as u64) << fraction_bits;
    sign | (base + rounded).min(infinity)
}

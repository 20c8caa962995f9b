//! 8-bit floats by way of wider ones.

use super::Fp8;

impl Fp8 {
    /// Fraction bits, exponent bias, the largest number.
    fn limits(self) -> (i32, i32, f64) {
        match self {
            Self::E4m3fn => (3, 7, 448.0),
            Self::E4m3fnuz => (3, 8, 240.0),
            Self::E5m2 => (2, 15, 57344.0),
            Self::E5m2fnuz => (2, 16, 57344.0),
        }
    }

    fn has_unsigned_zero(self) -> bool {
        matches!(self, Self::E4m3fnuz | Self::E5m2fnuz)
    }
}

/// A shift puts the fields at their places of an f32, and a power of two puts the exponent's bias right, subnormals included.
pub(super) fn decode(format: Fp8, bits: u8) -> f64 {
    let (fraction, bias, _) = format.limits();
    let rest = bits & 0x7f;
    match format {
        Fp8::E4m3fn if rest == 0x7f => return f64::NAN,
        Fp8::E4m3fnuz | Fp8::E5m2fnuz if bits == 0x80 => return f64::NAN,
        Fp8::E5m2 if rest > 0x7c => return f64::NAN,
        Fp8::E5m2 if bits == 0x7c => return f64::INFINITY,
        Fp8::E5m2 if bits == 0xfc => return f64::NEG_INFINITY,
        _ => {}
    }
    let magnitude = f32::from_bits(u32::from(rest) << (23 - fraction));
    let value = f64::from(magnitude) * 2f64.powi(127 - bias);
    if bits == rest { value } else { -value }
}

/// Rounds to a multiple of the spacing at the value's size, then cuts to the largest.
pub(super) fn encode(format: Fp8, value: f64) -> u8 {
    let (fraction, bias, largest) = format.limits();
    let sign = u8::from(value.is_sign_negative()) << 7;
    let nan = match format {
        Fp8::E4m3fn => sign | 0x7f,
        Fp8::E5m2 => sign | 0x7e,
        Fp8::E4m3fnuz | Fp8::E5m2fnuz => 0x80,
    };
    if value.is_nan() {
        return nan;
    }
    if value.is_infinite() {
        return if format == Fp8::E5m2 {
            sign | 0x7c
        } else {
            nan
        };
    }
    let size = value.abs().min(largest);
    // Below the least normal number the spacing stays what it is there.
    let exponent = (((size.to_bits() >> 52) as i32) - 1023).max(1 - bias);
    let spacing = 2f64.powi(exponent - fraction);
    // From 0 to 2^(fraction + 1), a carry into the next exponent included; nothing rounds beyond the largest, which is a multiple.
    let steps = (size / spacing).round_ties_even() as i32;
    let pattern = (((exponent + bias - 1) << fraction) + steps) as u8;
    if pattern == 0 && format.has_unsigned_zero() {
        0
    } else {
        sign | pattern
    }
}

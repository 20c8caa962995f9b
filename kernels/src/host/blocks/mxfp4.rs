//! `mxfp4`: 32 elements of type e2m1 under a power of two.
//!
//! The first byte is the exponent of the scale, biased by 127. Element `i` of the first half lies in the low bits of byte
//! `1 + i`, element `i + 16` in its high bits: not as neighbours, in which order other containers pack them.
//!
//! The scale's pattern 255 is NaN in the standard and 2^128 here, as in the format's own library, which no encoder writes.

/// Magnitudes of the eight codes without sign.
const MAGNITUDES: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

fn scale(exponent: u8) -> f64 {
    2f64.powi(i32::from(exponent) - 127)
}

pub(super) fn value(block: &[u8], i: usize) -> f64 {
    let code = block[1 + i % 16] >> (4 * (i / 16)) & 15;
    let magnitude = MAGNITUDES[usize::from(code & 7)] * scale(block[0]);
    // The format's library decodes through integers, which have no negative zero.
    if code > 8 { -magnitude } else { magnitude }
}

/// Scale: the power of two under which the greatest magnitude has the greatest exponent, which cuts magnitudes above 6 of it.
pub(super) fn encode(values: &[f32], block: &mut [u8]) {
    let greatest = values.iter().fold(0f32, |most, v| most.max(v.abs()));
    let exponent = if greatest > 0.0 {
        (f64::from(greatest).log2().floor() + 125.0).clamp(0.0, 254.0) as u8
    } else {
        0
    };
    block.fill(0);
    block[0] = exponent;
    for (i, &v) in values.iter().enumerate() {
        let wanted = f64::from(v.abs()) / scale(exponent);
        let nearest = (0..8u8)
            .min_by(|&a, &b| {
                let off = |code: u8| (MAGNITUDES[usize::from(code)] - wanted).abs();
                off(a).total_cmp(&off(b))
            })
            .unwrap_or(0);
        let sign = u8::from(v < 0.0 && nearest > 0) << 3;
        block[1 + i % 16] |= (sign | nearest) << (4 * (i / 16));
    }
}

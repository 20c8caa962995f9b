//! Whole blocks to numbers.

use super::Blocks;
use half::f16;

/// A little-endian f16.
fn scale(bytes: &[u8]) -> f64 {
    f16::from_le_bytes([bytes[0], bytes[1]]).to_f64()
}

pub(super) fn unpack(format: Blocks, block: &[u8], out: &mut [f64]) {
    match format {
        Blocks::Q8_0 => {
            let d = scale(block);
            for (value, code) in out.iter_mut().zip(&block[2..]) {
                *value = d * f64::from(*code as i8);
            }
        }
        Blocks::Q4_0 => nibbles(out, &block[2..], 0, affine(scale(block), -8.0)),
        Blocks::Q4_1 => {
            let (d, m) = (scale(block), scale(&block[2..]));
            nibbles(out, &block[4..], 0, |q| d * q + m);
        }
        Blocks::Q5_0 => {
            let fifth = word(&block[2..]);
            nibbles(out, &block[6..], fifth, affine(scale(block), -16.0));
        }
        Blocks::Q5_1 => {
            let (d, m) = (scale(block), scale(&block[2..]));
            nibbles(out, &block[8..], word(&block[4..]), |q| d * q + m);
        }
        Blocks::Mxfp4 => {
            // Codes count halves.
            let d = 2f64.powi(i32::from(block[0]) - 128);
            nibbles(out, &block[1..], 0, |q| {
                d * [
                    0., 1., 2., 3., 4., 6., 8., 12., 0., -1., -2., -3., -4., -6., -8., -12.,
                ][q as usize]
            });
        }
        Blocks::Q4K => with_minima(block, &[], &block[16..], out),
        Blocks::Q5K => with_minima(block, &block[16..48], &block[48..], out),
        Blocks::Q6K => q6_k(block, out),
    }
}

fn affine(d: f64, shift: f64) -> impl Fn(f64) -> f64 {
    move |q| d * (q + shift)
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// 32 codes of 16 bytes, low halves first, with a fifth bit each from `fifth`.
fn nibbles(out: &mut [f64], bytes: &[u8], fifth: u32, value: impl Fn(f64) -> f64) {
    let (first, second) = out.split_at_mut(16);
    for (i, &byte) in bytes[..16].iter().enumerate() {
        let top = |i: usize| ((fifth >> i & 1) << 4) as u8;
        first[i] = value(f64::from(byte & 15 | top(i)));
        second[i] = value(f64::from(byte >> 4 | top(i + 16)));
    }
}

/// The eight 6-bit scales and minima of 12 bytes: two vectors of eight bytes, of which each lane is 6 bits.
fn six_bits(packed: &[u8]) -> ([u8; 8], [u8; 8]) {
    let (mut scales, mut minima) = ([0; 8], [0; 8]);
    for i in 0..4 {
        let (s, m, shared) = (packed[i], packed[4 + i], packed[8 + i]);
        scales[i] = s & 0x3f;
        minima[i] = m & 0x3f;
        scales[4 + i] = (s & 0xc0) >> 2 | shared & 0x0f;
        minima[4 + i] = (m & 0xc0) >> 2 | shared >> 4;
    }
    (scales, minima)
}

/// Eight groups of 32, two to 32 bytes; fifth bits in 32 bytes, one bit a group, or nowhere.
fn with_minima(block: &[u8], fifth: &[u8], codes: &[u8], out: &mut [f64]) {
    let (d, d_min) = (scale(block), scale(&block[2..]));
    let (scales, minima) = six_bits(&block[4..16]);
    for (group, out) in out.chunks_exact_mut(32).enumerate() {
        let unit = d * f64::from(scales[group]);
        let minimum = d_min * f64::from(minima[group]);
        let codes = &codes[group / 2 * 32..][..32];
        for (l, value) in out.iter_mut().enumerate() {
            let low = if group % 2 == 0 {
                codes[l] & 15
            } else {
                codes[l] >> 4
            };
            let top = fifth.get(l).map_or(0, |bits| bits >> group & 1) << 4;
            *value = unit * f64::from(low | top) - minimum;
        }
    }
}

/// Two halves of 128: 64 bytes of low bits, 32 bytes of top bits and eight scales each.
fn q6_k(block: &[u8], out: &mut [f64]) {
    let d = scale(&block[208..]);
    for (half, out) in out.chunks_exact_mut(128).enumerate() {
        let low = &block[64 * half..][..64];
        let top = &block[128 + 32 * half..][..32];
        let scales = &block[192 + 8 * half..][..8];
        for l in 0..32 {
            let codes = [
                low[l] & 15 | (top[l] & 3) << 4,
                low[l + 32] & 15 | (top[l] >> 2 & 3) << 4,
                low[l] >> 4 | (top[l] >> 4 & 3) << 4,
                low[l + 32] >> 4 | top[l] >> 6 << 4,
            ];
            for (run, code) in codes.into_iter().enumerate() {
                let scale = f64::from(scales[2 * run + l / 16] as i8);
                out[32 * run + l] = d * scale * f64::from(i32::from(code) - 32);
            }
        }
    }
}

//! What the tests of quantised bodies share: seeded blocks, and a decoding in f64 of one element at a time, written from the
//! formats' descriptions and from nothing here.

use super::formats::Format;
use crate::simd::tests_support::Random;
use half::{bf16, f16};

fn half(bytes: &[u8], at: usize) -> f64 {
    f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f64()
}

/// An fp8 number with `mantissa` bits and this bias.
fn small_float(x: u8, mantissa: u32, bias: i32, finite: bool) -> f64 {
    let sign = if x >= 128 { -1.0 } else { 1.0 };
    let exponent = i32::from((x & 127) >> mantissa);
    let fraction = f64::from(u32::from(x) & ((1 << mantissa) - 1)) / f64::from(1_u32 << mantissa);
    let top = (1 << (7 - mantissa)) - 1;
    if finite && x & 127 == 127 {
        return f64::NAN;
    }
    if !finite && exponent == top {
        return if fraction == 0.0 {
            sign * f64::INFINITY
        } else {
            f64::NAN
        };
    }
    match exponent {
        0 => sign * fraction * 2_f64.powi(1 - bias),
        e => sign * (1.0 + fraction) * 2_f64.powi(e - bias),
    }
}

fn bit(bytes: &[u8], i: usize) -> i32 {
    i32::from(bytes[i / 8] >> (i % 8) & 1)
}

/// Nibble `i` of sixteen bytes whose upper halves follow the lower ones.
fn nibble(bytes: &[u8], i: usize) -> i32 {
    i32::from(if i < 16 {
        bytes[i] & 15
    } else {
        bytes[i - 16] >> 4
    })
}

/// Scale and offset `j` of twelve bytes.
fn pair(s: &[u8], j: usize) -> (f64, f64) {
    let (scale, offset) = if j < 4 {
        (s[j] % 64, s[j + 4] % 64)
    } else {
        let both = s[j + 4];
        (both % 16 + s[j - 4] / 64 * 16, both / 16 + s[j] / 64 * 16)
    };
    (f64::from(scale), f64::from(offset))
}

/// Nibble `i` of a block of 256.
fn nibble_of_256(q: &[u8], i: usize) -> i32 {
    let byte = q[i / 64 * 32 + i % 32];
    i32::from(if i % 64 < 32 { byte % 16 } else { byte / 16 })
}

/// The value of element `i` of one block.
fn element(format: Format, b: &[u8], i: usize) -> f64 {
    match format {
        Format::F32 => f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
        Format::F16 => half(b, 0),
        Format::Bf16 => bf16::from_le_bytes([b[0], b[1]]).to_f64(),
        Format::E4m3fn => small_float(b[0], 3, 7, true),
        Format::E5m2 => small_float(b[0], 2, 15, false),
        Format::Q8_0 => half(b, 0) * f64::from(b[2 + i] as i8),
        Format::Q4_0 => half(b, 0) * f64::from(nibble(&b[2..], i) - 8),
        Format::Q4_1 => half(b, 0) * f64::from(nibble(&b[4..], i)) + half(b, 2),
        Format::Q5_0 => half(b, 0) * f64::from(nibble(&b[6..], i) + 16 * bit(&b[2..6], i) - 16),
        Format::Q5_1 => {
            half(b, 0) * f64::from(nibble(&b[8..], i) + 16 * bit(&b[4..8], i)) + half(b, 2)
        }
        Format::Mxfp4 => {
            let table = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
            let q = nibble(&b[1..], i);
            let size = table[q as usize % 8] * 2_f64.powi(i32::from(b[0]) - 127);
            if q < 8 { size } else { -size }
        }
        Format::Q4K => {
            let (scale, offset) = pair(&b[4..16], i / 32);
            half(b, 0) * scale * f64::from(nibble_of_256(&b[16..], i)) - half(b, 2) * offset
        }
        Format::Q5K => {
            let (scale, offset) = pair(&b[4..16], i / 32);
            let fifth = i32::from(b[16 + i % 32] >> (i / 32) & 1);
            let q = nibble_of_256(&b[48..], i) + 16 * fifth;
            half(b, 0) * scale * f64::from(q) - half(b, 2) * offset
        }
        Format::Q6K => {
            let (side, j) = (i / 128, i % 128);
            let low = b[side * 64 + j % 64];
            let low = if j < 64 { low % 16 } else { low / 16 };
            let high = b[128 + side * 32 + j % 32] >> (j / 32 * 2) & 3;
            let q = i32::from(low) + 16 * i32::from(high) - 32;
            half(b, 208) * f64::from(b[192 + i / 16] as i8) * f64::from(q)
        }
    }
}

/// The value of element `k` of a row.
pub fn value(format: Format, row: &[u8], k: usize) -> f64 {
    let (elements, bytes) = format.block();
    let block = &row[k / elements * bytes..][..bytes];
    element(format, block, k % elements)
}

/// Random blocks: every bit pattern of the elements, scales of ordinary size. Plain floats are in −1..1, fp8 is finite.
pub fn random_row(format: Format, k: usize, random: &mut Random) -> Vec<u8> {
    let (elements, bytes) = format.block();
    assert!(k.is_multiple_of(elements));
    let mut row: Vec<u8> = (0..k / elements * bytes)
        .map(|_| random.next() as u8)
        .collect();
    for block in row.chunks_exact_mut(bytes) {
        if format == Format::E4m3fn && block[0] & 127 == 127
            || format == Format::E5m2 && block[0] & 127 >= 124
        {
            block[0] = 0x3a;
        }
        let mut put = |at: usize, size: f32| {
            let x = f16::from_f32(random.unit() * size);
            block[at..at + 2].copy_from_slice(&x.to_le_bytes());
        };
        match format {
            Format::F32 => block.copy_from_slice(&random.unit().to_le_bytes()),
            Format::F16 => put(0, 1.0),
            Format::Bf16 => block.copy_from_slice(&bf16::from_f32(random.unit()).to_le_bytes()),
            Format::E4m3fn | Format::E5m2 => {}
            Format::Q8_0 => put(0, 0.02),
            Format::Q4_0 | Format::Q5_0 => put(0, 0.2),
            Format::Q4_1 | Format::Q5_1 => {
                put(0, 0.2);
                put(2, 1.0);
            }
            Format::Q4K | Format::Q5K => {
                put(0, 0.003);
                put(2, 0.02);
            }
            Format::Q6K => put(208, 0.0005),
            Format::Mxfp4 => block[0] = 124 + block[0] % 6,
        }
    }
    row
}

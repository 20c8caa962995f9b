//! Numbers to whole blocks, in the f32 steps of the format's reference, so that the bytes are the reference's own.

use super::Blocks;
use half::f16;

pub(super) fn pack(format: Blocks, values: &[f32], block: &mut [u8]) -> bool {
    match format {
        Blocks::Q8_0 => q8_0(values, block),
        Blocks::Q4_0 => around_zero(values, block, 8.0),
        Blocks::Q5_0 => around_zero(values, block, 16.0),
        Blocks::Q4_1 => above_minimum(values, block, 15.0),
        Blocks::Q5_1 => above_minimum(values, block, 31.0),
        Blocks::Q4K | Blocks::Q5K | Blocks::Q6K | Blocks::Mxfp4 => return false,
    }
    true
}

fn put_f16(block: &mut [u8], value: f32) {
    block[..2].copy_from_slice(&f16::from_f32(value).to_le_bytes());
}

fn reciprocal(d: f32) -> f32 {
    if d != 0.0 { d.recip() } else { 0.0 }
}

fn q8_0(values: &[f32], block: &mut [u8]) {
    let mut amax = 0f32;
    for v in values {
        amax = amax.max(v.abs());
    }
    let d = amax / 127.0;
    let id = reciprocal(d);
    put_f16(block, d);
    for (i, v) in values.iter().enumerate() {
        block[2 + i] = (v * id).round() as i8 as u8;
    }
}

/// Codes from 0 to below `2·half`, `half` standing for zero. The first value of the greatest magnitude gets code 0.
fn around_zero(values: &[f32], block: &mut [u8], half: f32) {
    let mut extreme = 0f32;
    for &v in values {
        if v.abs() > extreme.abs() {
            extreme = v;
        }
    }
    let d = extreme / -half;
    let id = reciprocal(d);
    put_f16(block, d);
    let most = (2.0 * half) as u8 - 1;
    let codes = values
        .iter()
        .map(|v| ((v * id + (half + 0.5)) as u8).min(most));
    put_codes(codes, &mut block[2..], half > 8.0);
}

/// Codes from 0 to `most` above the least value.
fn above_minimum(values: &[f32], block: &mut [u8], most: f32) {
    let (mut min, mut max) = (values[0], values[0]);
    for &v in values {
        min = min.min(v);
        max = max.max(v);
    }
    let d = (max - min) / most;
    let id = reciprocal(d);
    put_f16(block, d);
    put_f16(&mut block[2..], min);
    let codes = values
        .iter()
        .map(|v| (((v - min) * id + 0.5) as u8).min(most as u8));
    put_codes(codes, &mut block[4..], most > 15.0);
}

/// Fifth bits as a word first, where there are any, then two codes a byte: element `i` below element `i + 16`.
fn put_codes(codes: impl Iterator<Item = u8>, bytes: &mut [u8], fifth: bool) {
    let mut word = 0u32;
    let mut nibbles = [0u8; 16];
    for (i, code) in codes.enumerate() {
        word |= u32::from(code >> 4) << i;
        nibbles[i % 16] |= (code & 15) << if i < 16 { 0 } else { 4 };
    }
    let mut rest = bytes;
    if fifth {
        let (head, tail) = rest.split_at_mut(4);
        head.copy_from_slice(&word.to_le_bytes());
        rest = tail;
    }
    rest[..16].copy_from_slice(&nibbles);
}

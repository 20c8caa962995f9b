//! The formats of 32 elements with an f16 scale.
//!
//! Codes of four bits lie two in a byte: element `i` of the first half in the low bits of byte `i`, element `i + 16` in its high
//! bits. A fifth bit of element `i` is bit `i` of a 32-bit word.

use super::{half, set_half};

/// The four low bits of code `i`, of bytes that begin at `at`.
fn low_bits(block: &[u8], at: usize, i: usize) -> u8 {
    let byte = block[at + i % 16];
    if i < 16 { byte & 15 } else { byte >> 4 }
}

/// The fifth bit of code `i`, of the word at `at`.
fn fifth_bit(block: &[u8], at: usize, i: usize) -> u8 {
    (block[at + i / 8] >> (i % 8) & 1) << 4
}

pub(super) fn q8_0(block: &[u8], i: usize) -> f64 {
    half(block, 0) * f64::from(block[2 + i] as i8)
}

pub(super) fn q4_0(block: &[u8], i: usize) -> f64 {
    half(block, 0) * (f64::from(low_bits(block, 2, i)) - 8.0)
}

pub(super) fn q4_1(block: &[u8], i: usize) -> f64 {
    half(block, 0) * f64::from(low_bits(block, 4, i)) + half(block, 2)
}

pub(super) fn q5_0(block: &[u8], i: usize) -> f64 {
    let code = low_bits(block, 6, i) | fifth_bit(block, 2, i);
    half(block, 0) * (f64::from(code) - 16.0)
}

pub(super) fn q5_1(block: &[u8], i: usize) -> f64 {
    let code = low_bits(block, 8, i) | fifth_bit(block, 4, i);
    half(block, 0) * f64::from(code) + half(block, 2)
}

/// 1/d, or 0 for a scale of 0, as the format's library has it.
fn inverse(d: f32) -> f32 {
    if d == 0.0 { 0.0 } else { 1.0 / d }
}

/// Scale: greatest magnitude over 127. Codes: nearest, ties away from zero.
pub(super) fn encode_q8_0(values: &[f32], block: &mut [u8]) {
    let greatest = values.iter().fold(0f32, |most, v| most.max(v.abs()));
    let d = greatest / 127.0;
    set_half(block, 0, d);
    for (code, v) in block[2..].iter_mut().zip(values) {
        *code = (v * inverse(d)).round() as i8 as u8;
    }
}

/// Scale: the value of greatest magnitude over minus half the number of codes, so that it gets code 0 whatever its sign.
pub(super) fn encode_symmetric(values: &[f32], block: &mut [u8], bits: u32) {
    // The first of several of one magnitude counts.
    let extreme = values
        .iter()
        .fold(0f32, |most, &v| if v.abs() > most.abs() { v } else { most });
    let middle = (1 << (bits - 1)) as f32;
    let d = extreme / -middle;
    set_half(block, 0, d);
    let code = |v: f32| (v * inverse(d) + (middle + 0.5)).trunc();
    store(values, block, 2, bits, code);
}

/// Scale: the range over the greatest code; the minimum is stored beside it.
pub(super) fn encode_with_minimum(values: &[f32], block: &mut [u8], bits: u32) {
    let least = values.iter().copied().fold(f32::INFINITY, f32::min);
    let greatest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let d = (greatest - least) / ((1 << bits) - 1) as f32;
    set_half(block, 0, d);
    set_half(block, 2, least);
    store(values, block, 4, bits, |v| {
        ((v - least) * inverse(d) + 0.5).trunc()
    });
}

/// Writes codes, cut to their range: fifth bits at `at`, then the low ones.
fn store(values: &[f32], block: &mut [u8], at: usize, bits: u32, code: impl Fn(f32) -> f32) {
    let low = if bits == 5 { at + 4 } else { at };
    block[at..].fill(0);
    for (i, &v) in values.iter().enumerate() {
        let code = (code(v) as u8).min((1 << bits) - 1);
        block[low + i % 16] |= (code & 15) << (4 * (i / 16));
        if bits == 5 {
            block[at + i / 8] |= (code >> 4) << (i % 8);
        }
    }
}

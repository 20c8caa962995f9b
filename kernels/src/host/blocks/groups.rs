//! The formats of 256 elements, whose groups have scales of their own under the block's.

use super::{half, set_half};

/// Where the packed scales and minima of `q4_K` and `q5_K` begin.
const SCALES: usize = 4;

/// The 6-bit scale and minimum of group `j` of 8.
///
/// The first four of each have a byte of their own, whose top two bits are those of the last four; the low four bits of the
/// last four share bytes, scale below and minimum above.
fn scale_and_minimum(block: &[u8], j: usize) -> (u8, u8) {
    let byte = |i: usize| block[SCALES + i];
    if j < 4 {
        (byte(j) & 63, byte(j + 4) & 63)
    } else {
        let shared = byte(j + 4);
        (
            shared & 15 | byte(j - 4) >> 6 << 4,
            shared >> 4 | byte(j) >> 6 << 4,
        )
    }
}

fn set_scale_and_minimum(block: &mut [u8], j: usize, scale: u8, minimum: u8) {
    let packed = &mut block[SCALES..SCALES + 12];
    if j < 4 {
        packed[j] |= scale;
        packed[j + 4] |= minimum;
    } else {
        packed[j + 4] |= scale & 15 | minimum << 4;
        packed[j - 4] |= scale >> 4 << 6;
        packed[j] |= minimum >> 4 << 6;
    }
}

/// Place of the low four bits of element `i`: groups lie in pairs, the even one in the low bits of 32 bytes.
fn nibble(i: usize) -> (usize, usize) {
    (i / 64 * 32 + i % 32, i / 32 % 2 * 4)
}

fn with_minimum(block: &[u8], i: usize, code: u8) -> f64 {
    let (scale, minimum) = scale_and_minimum(block, i / 32);
    half(block, 0) * f64::from(scale) * f64::from(code) - half(block, 2) * f64::from(minimum)
}

pub(super) fn q4_k(block: &[u8], i: usize) -> f64 {
    let (byte, shift) = nibble(i);
    with_minimum(block, i, block[16 + byte] >> shift & 15)
}

/// The fifth bit of element `i` is bit `i / 32` of one of 32 bytes.
pub(super) fn q5_k(block: &[u8], i: usize) -> f64 {
    let (byte, shift) = nibble(i);
    let fifth = block[16 + i % 32] >> (i / 32) & 1;
    with_minimum(block, i, block[48 + byte] >> shift & 15 | fifth << 4)
}

/// Place of element `i` of `q6_K`: the byte of its low four bits and their shift, the byte of its top two and theirs.
///
/// A half of 128 elements is four runs of 32. The low bits of the runs 0 and 1 are the low bits of 64 bytes, those of the runs
/// 2 and 3 the high ones; the top bits of all four share 32 bytes.
fn q6_k_places(i: usize) -> (usize, usize, usize, usize) {
    let (part, run, at) = (i / 128, i % 128 / 32, i % 32);
    (
        part * 64 + run % 2 * 32 + at,
        run / 2 * 4,
        128 + part * 32 + at,
        run * 2,
    )
}

pub(super) fn q6_k(block: &[u8], i: usize) -> f64 {
    let (low, low_shift, top, top_shift) = q6_k_places(i);
    let code = block[low] >> low_shift & 15 | (block[top] >> top_shift & 3) << 4;
    let scale = block[192 + i / 16] as i8;
    half(block, 208) * f64::from(scale) * (f64::from(code) - 32.0)
}

/// Scales and minima from the extremes of each group; the widest range gets scale 63, the least minimum 63.
pub(super) fn encode_with_minima(values: &[f32], block: &mut [u8], bits: u32) {
    let most = ((1 << bits) - 1) as f32;
    let extremes: Vec<(f32, f32)> = values
        .chunks(32)
        .map(|group| {
            group.iter().fold((0f32, 0f32), |(least, greatest), &v| {
                (least.min(v), greatest.max(v))
            })
        })
        .collect();
    let widest = extremes.iter().fold(0f32, |w, (l, g)| w.max(g - l));
    let deepest = extremes.iter().fold(0f32, |d, (l, _)| d.max(-l));
    block.fill(0);
    set_half(block, 0, widest / most / 63.0);
    set_half(block, 2, deepest / 63.0);
    let (d, d_min) = (half(block, 0) as f32, half(block, 2) as f32);
    let code_of = |v: f32, unit: f32| if unit > 0.0 { (v / unit).round() } else { 0.0 };
    for (j, (least, greatest)) in extremes.iter().enumerate() {
        let scale = code_of((greatest - least) / most, d).min(63.0);
        let minimum = code_of(-least, d_min).min(63.0);
        set_scale_and_minimum(block, j, scale as u8, minimum as u8);
        for (i, &v) in values.iter().enumerate().skip(32 * j).take(32) {
            let code = code_of(v + d_min * minimum, d * scale).clamp(0.0, most) as u8;
            let (byte, shift) = nibble(i);
            if bits == 5 {
                block[48 + byte] |= (code & 15) << shift;
                block[16 + i % 32] |= (code >> 4) << (i / 32);
            } else {
                block[16 + byte] |= code << shift;
            }
        }
    }
}

/// Scales from each group's value of greatest magnitude, which gets code 0: the scale's sign is opposite to its own.
pub(super) fn encode_q6_k(values: &[f32], block: &mut [u8]) {
    let extremes: Vec<f32> = values
        .chunks(16)
        .map(|group| {
            group
                .iter()
                .fold(0f32, |most, &v| if v.abs() > most.abs() { v } else { most })
        })
        .collect();
    let greatest = extremes.iter().fold(0f32, |most, e| most.max(e.abs()));
    block.fill(0);
    set_half(block, 208, greatest / 32.0 / 127.0);
    let d = half(block, 208) as f32;
    for (j, extreme) in extremes.iter().enumerate() {
        let scale = if d > 0.0 {
            (extreme / -32.0 / d).round().clamp(-128.0, 127.0)
        } else {
            0.0
        };
        block[192 + j] = scale as i8 as u8;
        for (i, &v) in values.iter().enumerate().skip(16 * j).take(16) {
            let unit = d * scale;
            let code = if unit == 0.0 { 0.0 } else { (v / unit).round() };
            let code = (code.clamp(-32.0, 31.0) + 32.0) as u8;
            let (low, low_shift, top, top_shift) = q6_k_places(i);
            block[low] |= (code & 15) << low_shift;
            block[top] |= (code >> 4) << top_shift;
        }
    }
}

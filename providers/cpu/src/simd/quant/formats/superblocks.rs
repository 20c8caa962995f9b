//! Blocks of 256 elements: the scales of parts of 32 or 16 elements are themselves quantised.

use super::Stored;
use super::blocks::{half_at, splat_half};
use crate::simd::lanes::Simd;

/// `d: f16, m: f16, scales: u8[12], q: u4[256]`; part *j* of 32 elements has the value d·scale(j)·q − m·offset(j).
///
/// Parts 2c and 2c + 1 are the lower and the upper halves of bytes 32c….
#[derive(Clone, Copy)]
pub struct Q4K;

/// As [`Q4K`], with a fifth bit: `d, m, scales, h: u8[32], q`; bit *j* of h[i] belongs to element *i* of part *j*.
#[derive(Clone, Copy)]
pub struct Q5K;

/// `q: u4[256], h: u2[256], scales: i8[16], d: f16`; part *j* of 16 elements has the value d·scale(j)·(q + 16·h − 32).
///
/// Of each 128 elements, 0…63 are the lower halves of 64 bytes, 64…127 the upper ones; pair *c* of bits of h[i] belongs to
/// element 32c + i.
#[derive(Clone, Copy)]
pub struct Q6K;

/// Scale and offset of part `j` from their twelve bytes: six bits each.
///
/// # Safety
/// Twelve bytes are readable.
#[inline(always)]
pub unsafe fn six_bits(p: *const u8, j: usize) -> (u8, u8) {
    // SAFETY: the caller's pointer; j is below 8.
    unsafe {
        let byte = |i: usize| p.add(i).read();
        if j < 4 {
            (byte(j) & 63, byte(j + 4) & 63)
        } else {
            (
                byte(j + 4) & 15 | byte(j - 4) >> 6 << 4,
                byte(j + 4) >> 4 | byte(j) >> 6 << 4,
            )
        }
    }
}

/// Elements `at`… of q, in words: parts of 32 alternate between the halves of their bytes.
///
/// # Safety
/// 128 bytes are readable.
#[inline(always)]
unsafe fn nibbles<S: Simd>(s: S, q: *const u8, at: usize) -> S::I {
    // SAFETY: `at` is a multiple of the lanes below 256.
    let bytes = unsafe { s.load_u8(q.add(at / 64 * 32 + at % 32)) };
    if (at / 32).is_multiple_of(2) {
        s.and(bytes, s.words(15))
    } else {
        s.shr::<4>(bytes)
    }
}

/// d·scale·q − m·offset of part `at / 32`.
///
/// # Safety
/// Sixteen bytes are readable at `p`: d, m and the scales.
#[inline(always)]
unsafe fn scaled<S: Simd>(s: S, p: *const u8, at: usize, q: S::I) -> S::V {
    // SAFETY: the caller's pointer.
    unsafe {
        let (scale, offset) = six_bits(p.add(4), at / 32);
        // Both products are exact: eleven bits by six.
        let d = s.mul(splat_half(s, half_at(p)), s.splat(f32::from(scale)));
        let m = s.mul(
            splat_half(s, half_at(p.add(2))),
            s.splat(-f32::from(offset)),
        );
        s.fma(s.floats(q), d, m)
    }
}

impl Stored for Q4K {
    const ELEMENTS: usize = 256;
    const BYTES: usize = 144;

    #[inline(always)]
    unsafe fn lanes<S: Simd>(s: S, row: *const u8, at: usize) -> S::V {
        let (p, at) = (row.wrapping_add(at / 256 * Self::BYTES), at % 256);
        // SAFETY: the block is readable as a whole; `at` is a multiple of the lanes.
        unsafe { scaled(s, p, at, nibbles(s, p.add(16), at)) }
    }
}

impl Stored for Q5K {
    const ELEMENTS: usize = 256;
    const BYTES: usize = 176;

    #[inline(always)]
    unsafe fn lanes<S: Simd>(s: S, row: *const u8, at: usize) -> S::V {
        let (p, at) = (row.wrapping_add(at / 256 * Self::BYTES), at % 256);
        // SAFETY: the block is readable as a whole; `at` is a multiple of the lanes.
        unsafe {
            let bits = s.load_u8(p.add(16 + at % 32));
            // Bit `at / 32` comes to the place of 16.
            let bit = match at / 32 {
                0 => s.shl::<4>(bits),
                1 => s.shl::<3>(bits),
                2 => s.shl::<2>(bits),
                3 => s.shl::<1>(bits),
                4 => bits,
                5 => s.shr::<1>(bits),
                6 => s.shr::<2>(bits),
                _ => s.shr::<3>(bits),
            };
            let q = s.or(nibbles(s, p.add(48), at), s.and(bit, s.words(16)));
            scaled(s, p, at, q)
        }
    }
}

impl Stored for Q6K {
    const ELEMENTS: usize = 256;
    const BYTES: usize = 210;

    #[inline(always)]
    unsafe fn lanes<S: Simd>(s: S, row: *const u8, at: usize) -> S::V {
        let (p, at) = (row.wrapping_add(at / 256 * Self::BYTES), at % 256);
        let (half, part) = (at / 128, at % 128 / 32);
        // SAFETY: the block is readable as a whole; `at` is a multiple of the lanes, which are at most a part of 16.
        unsafe {
            let low = s.load_u8(p.add(half * 64 + at % 64));
            let high = s.load_u8(p.add(128 + half * 32 + at % 32));
            let low = if part < 2 {
                s.and(low, s.words(15))
            } else {
                s.shr::<4>(low)
            };
            let high = match part {
                0 => s.shl::<4>(high),
                1 => s.shl::<2>(high),
                2 => high,
                _ => s.shr::<2>(high),
            };
            let q = s.or(low, s.and(high, s.words(0x30)));
            let scale = f32::from(p.add(192 + at / 16).read() as i8);
            let d = s.mul(splat_half(s, half_at(p.add(208))), s.splat(scale));
            s.mul(s.floats(s.sub_words(q, s.words(32))), d)
        }
    }
}

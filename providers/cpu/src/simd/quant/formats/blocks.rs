//! Blocks of 32 elements with one scale.
//!
//! Nibbles: byte *j* of the sixteen holds element *j* in its lower half and element *j* + 16 in its upper one.

use super::Stored;
use crate::simd::lanes::Simd;

/// `d: f16, q: i8[32]`; the value is d·q.
#[derive(Clone, Copy)]
pub struct Q8_0;

/// `d: f16, q: u4[32]`; the value is d·(q − 8).
#[derive(Clone, Copy)]
pub struct Q4_0;

/// `d: f16, m: f16, q: u4[32]`; the value is d·q + m.
#[derive(Clone, Copy)]
pub struct Q4_1;

/// `d: f16, h: u1[32], q: u4[32]`; the value is d·(q + 16·h − 16).
#[derive(Clone, Copy)]
pub struct Q5_0;

/// `d: f16, m: f16, h: u1[32], q: u4[32]`; the value is d·(q + 16·h) + m.
#[derive(Clone, Copy)]
pub struct Q5_1;

/// `e: u8, q: u4[32]`; the value is 2^(e − 127) times the e2m1 number q.
#[derive(Clone, Copy)]
pub struct Mxfp4;

/// e2m1 numbers, doubled, plus 12: so that all are whole and none is negative.
pub const E2M1: [u8; 16] = [12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0];
/// What [`E2M1`] adds.
pub const E2M1_ZERO: u32 = 12;

/// The half at `p`.
///
/// # Safety
/// Two bytes are readable.
#[inline(always)]
pub unsafe fn half_at(p: *const u8) -> u16 {
    // SAFETY: the caller's pointer.
    unsafe { p.cast::<u16>().read_unaligned() }
}

/// A half in all lanes.
#[inline(always)]
pub fn splat_half<S: Simd>(s: S, bits: u16) -> S::V {
    // A load of one element would decode in software; all lanes at once take the instruction.
    let lanes = [bits; 16];
    // SAFETY: sixteen elements are the widest vector.
    s.widen_f16(unsafe { s.load16(lanes.as_ptr()) })
}

/// 2^(e − 128), the value of one step of [`E2M1`], for the scale byte e. As the format's own library has it, 255 is no NaN.
#[inline(always)]
pub fn half_power(e: u8) -> f32 {
    match e {
        // Below the normal numbers.
        0 | 1 => f32::from_bits(0x0020_0000 << e),
        _ => f32::from_bits(u32::from(e - 1) << 23),
    }
}

/// The nibbles of elements `at`…, in words.
///
/// # Safety
/// Sixteen bytes are readable at `q`.
#[inline(always)]
unsafe fn nibbles<S: Simd>(s: S, q: *const u8, at: usize) -> S::I {
    // SAFETY: at % 16 is a multiple of the lanes, of which there are at most sixteen.
    let bytes = unsafe { s.load_u8(q.add(at % 16)) };
    if at < 16 {
        s.and(bytes, s.words(15))
    } else {
        s.shr::<4>(bytes)
    }
}

/// Bits `at`… of `h`, as 16 or 0.
#[inline(always)]
fn fifth_bits<S: Simd>(s: S, h: u32, at: usize) -> S::I {
    let bits = s.shr_by_lane(s.words(h >> at));
    s.shl::<4>(s.and(bits, s.words(1)))
}

/// # Safety
/// Four bytes are readable.
#[inline(always)]
unsafe fn word_at(p: *const u8) -> u32 {
    // SAFETY: the caller's pointer.
    unsafe { p.cast::<u32>().read_unaligned() }
}

macro_rules! stored {
    ($type:ty, $bytes:expr, |$s:ident, $p:ident, $at:ident| $body:expr) => {
        impl Stored for $type {
            const ELEMENTS: usize = 32;
            const BYTES: usize = $bytes;
            #[inline(always)]
            unsafe fn lanes<S: Simd>($s: S, row: *const u8, at: usize) -> S::V {
                let $p = row.wrapping_add(at / 32 * $bytes);
                let $at = at % 32;
                // SAFETY: the block is readable as a whole; `at` is a multiple of the lanes, so the vector lies in it.
                unsafe { $body }
            }
        }
    };
}

stored!(Q8_0, 34, |s, p, at| {
    s.mul(
        s.floats(s.load_i8(p.add(2 + at))),
        splat_half(s, half_at(p)),
    )
});

stored!(Q4_0, 18, |s, p, at| {
    let q = s.sub_words(nibbles(s, p.add(2), at), s.words(8));
    s.mul(s.floats(q), splat_half(s, half_at(p)))
});

stored!(Q4_1, 20, |s, p, at| {
    let q = nibbles(s, p.add(4), at);
    s.fma(
        s.floats(q),
        splat_half(s, half_at(p)),
        splat_half(s, half_at(p.add(2))),
    )
});

stored!(Q5_0, 22, |s, p, at| {
    let q = s.or(
        nibbles(s, p.add(6), at),
        fifth_bits(s, word_at(p.add(2)), at),
    );
    let q = s.sub_words(q, s.words(16));
    s.mul(s.floats(q), splat_half(s, half_at(p)))
});

stored!(Q5_1, 24, |s, p, at| {
    let q = s.or(
        nibbles(s, p.add(8), at),
        fifth_bits(s, word_at(p.add(4)), at),
    );
    s.fma(
        s.floats(q),
        splat_half(s, half_at(p)),
        splat_half(s, half_at(p.add(2))),
    )
});

stored!(Mxfp4, 17, |s, p, at| {
    let q = s.and(s.look_up(&E2M1, nibbles(s, p.add(1), at)), s.words(255));
    let q = s.sub_words(q, s.words(E2M1_ZERO));
    s.mul(s.floats(q), s.splat(half_power(p.read())))
});

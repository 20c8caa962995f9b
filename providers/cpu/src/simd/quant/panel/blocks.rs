//! Blocks of 32 elements as panels.

use super::{Panels, Words, halves, word};
use crate::simd::lanes::Simd;
use crate::simd::quant::formats::{E2M1, E2M1_ZERO, Mxfp4, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0};

/// The nibbles of group `g`: groups 0 to 3 are the lower halves of four words, groups 4 to 7 the upper ones.
///
/// # Safety
/// Four words are readable.
#[inline(always)]
unsafe fn nibbles<S: Simd>(s: S, p: *const u8, g: usize) -> S::I {
    // SAFETY: the caller's pointer.
    let w = unsafe { word(s, p, g % 4) };
    let w = if g < 4 { w } else { s.shr::<4>(w) };
    s.and(w, s.words(0x0f0f_0f0f))
}

/// The fifth bits of group `g` in the place of 16.
#[inline(always)]
pub fn fifth_bits<S: Simd>(s: S, bits: S::I, g: usize) -> S::I {
    let bits = match g {
        0 => s.shl::<4>(bits),
        1 => s.shl::<3>(bits),
        2 => s.shl::<2>(bits),
        3 => s.shl::<1>(bits),
        4 => bits,
        5 => s.shr::<1>(bits),
        6 => s.shr::<2>(bits),
        _ => s.shr::<3>(bits),
    };
    s.and(bits, s.words(0x1010_1010))
}

impl Panels for Q8_0 {
    const QUANTS: &'static [Words] = &[(2, 8)];
    const BITS: &'static [usize] = &[];
    const HALVES: &'static [usize] = &[0];
    const SCALES: Words = (0, 0);
    const BYTE: &'static [usize] = &[];
    const LIMIT: u32 = 128;
    const ZERO: u32 = 0;
    const SIGNED: bool = true;

    #[inline(always)]
    unsafe fn group<S: Simd>(s: S, body: *const u8, _: usize, g: usize) -> S::I {
        // SAFETY: the same contract.
        unsafe { word(s, body, g) }
    }
    #[inline(always)]
    unsafe fn scale<S: Simd>(s: S, head: *const u8, _: usize, _: usize) -> S::V {
        // SAFETY: the same contract.
        unsafe { halves(s, head) }
    }
}

macro_rules! nibble_panels {
    ($type:ty, $quants:expr, $bits:expr, $halves:expr, $limit:expr, $zero:expr, $offsets:expr) => {
        impl Panels for $type {
            const QUANTS: &'static [Words] = &[($quants, 4)];
            const BITS: &'static [usize] = $bits;
            const HALVES: &'static [usize] = $halves;
            const SCALES: Words = (0, 0);
            const BYTE: &'static [usize] = &[];
            const LIMIT: u32 = $limit;
            const ZERO: u32 = $zero;
            const OFFSETS: bool = $offsets;

            #[inline(always)]
            unsafe fn group<S: Simd>(s: S, body: *const u8, _: usize, g: usize) -> S::I {
                // SAFETY: the same contract; with fifth bits their word is the first of five.
                unsafe {
                    if Self::BITS.is_empty() {
                        return nibbles(s, body, g);
                    }
                    let bits = fifth_bits(s, word(s, body, 0), g);
                    s.or(nibbles(s, body.add(4 * S::LANES), g), bits)
                }
            }
            #[inline(always)]
            unsafe fn scale<S: Simd>(s: S, head: *const u8, _: usize, _: usize) -> S::V {
                // SAFETY: the same contract.
                unsafe { halves(s, head) }
            }
            #[inline(always)]
            unsafe fn offset<S: Simd>(s: S, head: *const u8, _: usize) -> S::V {
                // SAFETY: the same contract; with offsets there are two halves.
                unsafe { halves(s, head.add(2 * S::LANES)) }
            }
        }
    };
}

nibble_panels!(Q4_0, 2, &[], &[0], 15, 8, false);
nibble_panels!(Q4_1, 4, &[], &[0, 2], 15, 0, true);
nibble_panels!(Q5_0, 6, &[2], &[0], 31, 16, false);
nibble_panels!(Q5_1, 8, &[4], &[0, 2], 31, 0, true);

impl Panels for Mxfp4 {
    const QUANTS: &'static [Words] = &[(1, 4)];
    const BITS: &'static [usize] = &[];
    const HALVES: &'static [usize] = &[];
    const SCALES: Words = (0, 0);
    const BYTE: &'static [usize] = &[0];
    const LIMIT: u32 = 24;
    const ZERO: u32 = E2M1_ZERO;

    #[inline(always)]
    unsafe fn group<S: Simd>(s: S, body: *const u8, _: usize, g: usize) -> S::I {
        // SAFETY: the same contract.
        s.look_up(&E2M1, unsafe { nibbles(s, body, g) })
    }
    #[inline(always)]
    unsafe fn scale<S: Simd>(s: S, head: *const u8, _: usize, _: usize) -> S::V {
        // SAFETY: the same contract.
        let e = unsafe { s.load_u8(head) };
        // 2^(e − 128) in two exact steps, since neither end is within reach of one normal number.
        let upper = s.as_floats(s.shl::<23>(s.add_words(s.shr::<1>(e), s.words(63))));
        let lower = s.sub_words(e, s.shr::<1>(e));
        let lower = s.as_floats(s.shl::<23>(s.add_words(lower, s.words(63))));
        s.mul(upper, lower)
    }
}

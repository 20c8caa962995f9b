//! Blocks of 256 elements as panels.

use super::blocks::fifth_bits;
use super::{Panels, Words, halves, word};
use crate::simd::lanes::Simd;
use crate::simd::quant::formats::{Q4K, Q5K, Q6K};

/// Parts 2c and 2c + 1 are the lower and the upper halves of words 8c….
///
/// # Safety
/// 32 words are readable.
#[inline(always)]
unsafe fn nibbles<S: Simd>(s: S, p: *const u8, part: usize, g: usize) -> S::I {
    // SAFETY: the caller's pointer.
    let w = unsafe { word(s, p, part / 2 * 8 + g) };
    let w = if part.is_multiple_of(2) {
        w
    } else {
        s.shr::<4>(w)
    };
    s.and(w, s.words(0x0f0f_0f0f))
}

/// The bits of each word from `shift` on, `mask` of them.
#[inline(always)]
fn field<S: Simd>(s: S, w: S::I, shift: usize, mask: u32) -> S::I {
    let w = match shift {
        0 => w,
        4 => s.shr::<4>(w),
        6 => s.shr::<6>(w),
        8 => s.shr::<8>(w),
        12 => s.shr::<12>(w),
        14 => s.shr::<14>(w),
        16 => s.shr::<16>(w),
        20 => s.shr::<20>(w),
        22 => s.shr::<22>(w),
        24 => s.shr::<24>(w),
        28 => s.shr::<28>(w),
        _ => s.shr::<30>(w),
    };
    s.and(w, s.words(mask))
}

/// The six-bit scale (`offset` false) or offset of a part: bytes 0 to 3 and 4 to 7 hold those of parts 0 to 3, whose upper
/// two bits, with the nibbles of bytes 8 to 11, are those of parts 4 to 7.
///
/// # Safety
/// Three words are readable.
#[inline(always)]
unsafe fn six_bits<S: Simd>(s: S, p: *const u8, part: usize, offset: bool) -> S::I {
    let first = usize::from(offset);
    // SAFETY: the caller's pointer.
    unsafe {
        let own = word(s, p, first);
        if part < 4 {
            return field(s, own, 8 * part, 63);
        }
        let low = field(s, word(s, p, 2), 8 * (part - 4) + 4 * first, 15);
        let high = field(s, own, 8 * (part - 4) + 6, 3);
        s.or(low, s.shl::<4>(high))
    }
}

macro_rules! k_panels {
    ($type:ty, $quants:expr, $limit:expr, |$s:ident, $body:ident, $part:ident, $g:ident| $group:expr) => {
        impl Panels for $type {
            const QUANTS: &'static [Words] = $quants;
            const BITS: &'static [usize] = &[];
            const HALVES: &'static [usize] = &[0, 2];
            const SCALES: Words = (4, 3);
            const BYTE: &'static [usize] = &[];
            const LIMIT: u32 = $limit;
            const ZERO: u32 = 0;
            const OFFSETS: bool = true;

            #[inline(always)]
            unsafe fn group<S: Simd>($s: S, $body: *const u8, $part: usize, $g: usize) -> S::I {
                // SAFETY: the same contract.
                unsafe { $group }
            }
            #[inline(always)]
            unsafe fn scale<S: Simd>(s: S, head: *const u8, part: usize, _: usize) -> S::V {
                // SAFETY: the same contract; the words follow the two halves.
                unsafe {
                    let scale = six_bits(s, head.add(4 * S::LANES), part, false);
                    s.mul(halves(s, head), s.floats(scale))
                }
            }
            #[inline(always)]
            unsafe fn offset<S: Simd>(s: S, head: *const u8, part: usize) -> S::V {
                // SAFETY: as above.
                unsafe {
                    let offset = six_bits(s, head.add(4 * S::LANES), part, true);
                    let m = s.mul(halves(s, head.add(2 * S::LANES)), s.floats(offset));
                    s.sub(s.splat(0.0), m)
                }
            }
        }
    };
}

k_panels!(Q4K, &[(16, 32)], 15, |s, body, part, g| {
    nibbles(s, body, part, g)
});

// Bit `part` of the fifth bits' bytes belongs to the part, as bit g of packed bits to a group.
k_panels!(Q5K, &[(16, 8), (48, 32)], 31, |s, body, part, g| {
    let bits = fifth_bits(s, word(s, body, g), part);
    s.or(nibbles(s, body.add(32 * S::LANES), part, g), bits)
});

impl Panels for Q6K {
    const QUANTS: &'static [Words] = &[(0, 32), (128, 16)];
    const BITS: &'static [usize] = &[];
    const HALVES: &'static [usize] = &[208];
    const SCALES: Words = (192, 4);
    const BYTE: &'static [usize] = &[];
    const LIMIT: u32 = 63;
    const ZERO: u32 = 32;
    const SPLIT: bool = true;

    #[inline(always)]
    unsafe fn group<S: Simd>(s: S, body: *const u8, part: usize, g: usize) -> S::I {
        let (side, part) = (part / 4, part % 4);
        // SAFETY: the same contract.
        unsafe {
            let low = word(s, body, side * 16 + part % 2 * 8 + g);
            let low = if part < 2 { low } else { s.shr::<4>(low) };
            let high = word(s, body, 32 + side * 8 + g);
            let high = match part {
                0 => s.shl::<4>(high),
                1 => s.shl::<2>(high),
                2 => high,
                _ => s.shr::<2>(high),
            };
            s.or(
                s.and(low, s.words(0x0f0f_0f0f)),
                s.and(high, s.words(0x3030_3030)),
            )
        }
    }
    #[inline(always)]
    unsafe fn scale<S: Simd>(s: S, head: *const u8, part: usize, half: usize) -> S::V {
        let i = part * 2 + half;
        // SAFETY: the same contract; the words follow the one half.
        unsafe {
            let w = word(s, head.add(2 * S::LANES), i / 4);
            let w = match i % 4 {
                0 => s.shl::<24>(w),
                1 => s.shl::<16>(w),
                2 => s.shl::<8>(w),
                _ => w,
            };
            s.mul(halves(s, head), s.floats(s.sar::<24>(w)))
        }
    }
}

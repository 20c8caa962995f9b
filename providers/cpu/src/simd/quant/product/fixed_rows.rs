//! Rows of `a` as fixed point: see [`super::fixed`].
//!
//! A block lies in two lines of the cache: its digits, 32 bytes each, the greatest first; its scale d, a power of two; six words, which
//! are what the sums of digits begin with, or d times the sum of the integers; and whether it is odd. Behind the last block
//! stands how many are odd.

use super::activations::zero;
use crate::simd::elem::Elem;
use crate::simd::lanes::{Simd, Task};
use crate::simd::quant::panel::Panels;
use core::marker::PhantomData;
use core::ops::Range;

/// Bytes of a block.
const BLOCK: usize = 128;
/// Bytes behind the last one.
const TAIL: usize = 64;
/// Digits of an activation.
pub const DIGITS: usize = 3;
/// Where in a block things are.
const SCALE: usize = 96;
const WORDS: usize = 100;
const ODD: usize = 124;

/// Magnitudes that fixed point holds.
const HELD: Range<f32> = f32::from_bits((127 - 100) << 23)..f32::from_bits((127 + 100) << 23);

/// Bits of a digit.
pub const fn bits<S: Simd, F: Panels>() -> u32 {
    if F::SIGNED && !S::QUADS { 7 } else { 8 }
}

/// Bytes of a row of `k` elements.
pub fn stride(k: usize) -> usize {
    k / 32 * BLOCK + TAIL
}

/// A prepared row from some block on.
#[derive(Clone, Copy)]
pub struct Digits {
    at: *const u8,
    tail: *const u8,
}

impl Digits {
    pub fn of(prepared: *const u8, k: usize, row: usize) -> Self {
        let at = prepared.wrapping_add(row * stride(k));
        Digits {
            at,
            tail: at.wrapping_add(k / 32 * BLOCK),
        }
    }

    /// The same row from part `part` on.
    #[inline(always)]
    pub fn part(self, part: usize) -> Self {
        Digits {
            at: self.at.wrapping_add(part * BLOCK),
            ..self
        }
    }

    /// Four neighbours' digits: number `digit` of group `g`, as a word.
    ///
    /// # Safety
    /// The block was prepared.
    #[inline(always)]
    pub unsafe fn group(self, digit: usize, g: usize) -> u32 {
        // SAFETY: the caller's block.
        unsafe { self.at.add(32 * digit + 4 * g).cast::<u32>().read() }
    }

    /// The block's scale.
    ///
    /// # Safety
    /// The block was prepared.
    #[inline(always)]
    pub unsafe fn scale(self) -> f32 {
        // SAFETY: the caller's block.
        unsafe { self.at.add(SCALE).cast::<f32>().read() }
    }

    /// What the sum of a digit over a half (or the whole) begins with.
    ///
    /// # Safety
    /// The block was prepared.
    #[inline(always)]
    pub unsafe fn start(self, digit: usize, half: usize) -> u32 {
        // SAFETY: the caller's block.
        unsafe {
            self.at
                .add(WORDS)
                .cast::<u32>()
                .add(half * DIGITS + digit)
                .read()
        }
    }

    /// The sum of what the block's elements stand for; for formats with offsets alone.
    ///
    /// # Safety
    /// The block was prepared.
    #[inline(always)]
    pub unsafe fn sum(self) -> f32 {
        // SAFETY: the caller's block.
        unsafe { self.at.add(WORDS).cast::<f32>().read() }
    }

    /// Whether fixed point cannot hold the block.
    ///
    /// # Safety
    /// The block was prepared.
    pub unsafe fn is_odd(self) -> bool {
        // SAFETY: the caller's block.
        unsafe { self.at.add(ODD).cast::<u32>().read() != 0 }
    }

    /// Whether the row has such a block.
    ///
    /// # Safety
    /// The row was prepared.
    #[inline(always)]
    pub unsafe fn has_odd(self) -> bool {
        // SAFETY: the caller's row.
        unsafe { self.tail.cast::<u32>().read() != 0 }
    }
}

/// Writes a row of `blocks` blocks.
pub struct Round<E, F> {
    pub from: *const E,
    pub to: *mut u8,
    pub blocks: usize,
    pub format: PhantomData<F>,
}

impl<E: Elem, F: Panels> Task for Round<E, F> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let bits = const { bits::<S, F>() };
        let half = 1 << (bits - 1);
        // Half a digit in each place makes all digits positive.
        let shift = half | half << bits | half << (2 * bits);
        // The integers' magnitude stays below 2 to this, which three digits hold.
        let whole = 3 * bits - 2;
        let zero = zero::<S, F>() as i32;
        let mut odds = 0_u32;
        for block in 0..self.blocks {
            let to = self.to.wrapping_add(block * BLOCK);
            let mut q = [0_i32; 32];
            // SAFETY: the block's elements are readable; a prepared row has places for all that is written of it.
            unsafe {
                let from = self.from.add(block * 32);
                let (mut greatest, mut nothing) = (s.splat(0.0), s.splat(0.0));
                for at in (0..32).step_by(S::LANES) {
                    let x = E::load(s, from.add(at));
                    greatest = s.max(greatest, s.abs(x));
                    nothing = s.add(nothing, s.sub(x, x));
                }
                let amax = s.largest(greatest);
                // x − x is 0 but for NaN and infinity.
                let held = HELD.contains(&amax) && s.sum(nothing) == 0.0;
                let odd = !held && (amax != 0.0 || s.sum(nothing) != 0.0);
                odds += u32::from(odd);
                let mut d = 0.0;
                if held {
                    let exponent = amax.to_bits() >> 23;
                    // 2^(whole − 1 − e) and its inverse, both normal numbers for all that is held.
                    let factor = s.splat(f32::from_bits((253 + whole - exponent) << 23));
                    d = f32::from_bits((exponent + 1 - whole) << 23);
                    for at in (0..32).step_by(S::LANES) {
                        let scaled = s.mul(E::load(s, from.add(at)), factor);
                        s.store_words(q.as_mut_ptr().add(at).cast(), s.rounded(scaled));
                    }
                }
                let mut words = [0_u32; 6];
                for digit in 0..DIGITS {
                    let mut bytes = [0_i8; 32];
                    let by = bits * (DIGITS - 1 - digit) as u32;
                    for i in 0..32 {
                        bytes[i] = (((q[i] + shift) >> by & (2 * half - 1)) - half) as i8;
                    }
                    to.add(32 * digit).cast::<[i8; 32]>().write(bytes);
                    if zero != 0 {
                        let sum = |half: &[i8]| half.iter().map(|&q| i32::from(q)).sum::<i32>();
                        let sums = [sum(&bytes[..16]), sum(&bytes[16..])];
                        if F::SPLIT {
                            words[digit] = (-zero * sums[0]) as u32;
                            words[DIGITS + digit] = (-zero * sums[1]) as u32;
                        } else {
                            words[digit] = (-zero * (sums[0] + sums[1])) as u32;
                        }
                    }
                }
                if F::OFFSETS {
                    words[0] = (q.iter().sum::<i32>() as f32 * d).to_bits();
                }
                to.add(SCALE).cast::<f32>().write(d);
                to.add(WORDS).cast::<[u32; 6]>().write(words);
                to.add(ODD).cast::<u32>().write(u32::from(odd));
            }
        }
        let tail = self.to.wrapping_add(self.blocks * BLOCK);
        // SAFETY: the row ends with a tail.
        unsafe { tail.cast::<u32>().write(odds) };
    }
}

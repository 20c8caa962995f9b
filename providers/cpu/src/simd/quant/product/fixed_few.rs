//! A few rows of digits against a panel as it comes from memory: each group is decoded once, in registers, for all of them.

use super::activations::zero;
use super::fixed_rows::{DIGITS, Digits, bits};
use super::int8::{Scales, run as run_length, scales, unsigned};
use super::int8_few::{AHEAD, LINE};
use super::source::Chunk;
use crate::simd::lanes::{Simd, Task};
use crate::simd::quant::panel::Panels;
use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::marker::PhantomData;

/// Adds `blocks` blocks of a panel to the accumulators of `rows` rows, 1 to 4, `S::LANES` floats each.
///
/// # Safety
/// The chunk and the rows hold the blocks; the accumulators are writable.
pub unsafe fn run<S: Simd, F: Panels>(
    s: S,
    chunk: Chunk,
    blocks: usize,
    rows: usize,
    row: impl Fn(usize) -> Digits,
    acc: *mut f32,
) {
    macro_rules! task {
        ($r:literal) => {
            s.run(Few::<F, $r> {
                chunk,
                blocks,
                rows: core::array::from_fn(row),
                acc,
                format: PhantomData,
            })
        };
    }
    match rows {
        1 => task!(1),
        2 => task!(2),
        3 => task!(3),
        4 => task!(4),
        other => unreachable!("{other} rows are not few"),
    }
}

struct Few<F, const R: usize> {
    chunk: Chunk,
    blocks: usize,
    rows: [Digits; R],
    acc: *mut f32,
    format: PhantomData<F>,
}

impl<F: Panels, const R: usize> Task for Few<F, R> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        // SAFETY: the contract of `run`: the chunk and the rows hold the blocks.
        unsafe {
            let mut acc = [s.splat(0.0); R];
            for r in 0..R {
                acc[r] = s.load(self.acc.add(r * S::LANES));
            }
            let Chunk { mut body, mut head } = self.chunk;
            let mut at = 0;
            let mut ahead = body.wrapping_add(AHEAD);
            for _ in 0..self.blocks {
                let end = ahead.wrapping_add(F::BYTES * S::LANES);
                while ahead < end {
                    _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
                    ahead = ahead.wrapping_add(LINE);
                }
                for part in 0..F::ELEMENTS / 32 {
                    let mut groups = [s.words(0); 8];
                    for g in 0..8 {
                        groups[g] = unsigned::<S, F>(s, F::group(s, body, part, g));
                    }
                    let Scales { scale, offset } = scales::<S, F>(s, head, part);
                    for r in 0..R {
                        let digits = self.rows[r].part(at);
                        let d = s.splat(digits.scale());
                        for half in 0..if F::SPLIT { 2 } else { 1 } {
                            let sum = if F::SPLIT {
                                dot::<S, F, 4>(s, &groups[4 * half..], digits, half)
                            } else {
                                dot::<S, F, 8>(s, &groups, digits, half)
                            };
                            acc[r] = s.fma(s.mul(sum, d), scale[half], acc[r]);
                        }
                        if F::OFFSETS {
                            acc[r] = s.fma(offset, s.splat(digits.sum()), acc[r]);
                        }
                    }
                    at += 1;
                }
                body = body.add(F::BODY * S::LANES);
                head = head.add(F::HEAD * S::LANES);
            }
            for r in 0..R {
                s.store(self.acc.add(r * S::LANES), acc[r]);
            }
        }
    }
}

/// The sum, for each column, of the products of `N` groups with a block's integers, which begin with group `half · N` of the block.
///
/// # Safety
/// The block was prepared.
#[inline(always)]
unsafe fn dot<S: Simd, F: Panels, const N: usize>(
    s: S,
    groups: &[S::I],
    digits: Digits,
    half: usize,
) -> S::V {
    let mut sums = [s.words(0); DIGITS];
    // SAFETY: the caller's block.
    unsafe {
        let spread = |digit: usize, g: usize| s.words(digits.group(digit, half * N + g));
        if zero::<S, F>() != 0 {
            for digit in 0..DIGITS {
                sums[digit] = s.words(digits.start(digit, half));
            }
        }
        if S::QUADS {
            for g in 0..N {
                for digit in 0..DIGITS {
                    sums[digit] = s.quads(sums[digit], groups[g], spread(digit, g));
                }
            }
        } else if F::SIGNED {
            for g in 0..N {
                for digit in 0..DIGITS {
                    let signed = s.signed_by(spread(digit, g), groups[g]);
                    sums[digit] = s.quads(sums[digit], s.magnitudes(groups[g]), signed);
                }
            }
        } else {
            let run = const { run_length(F::LIMIT) };
            for first in (0..N).step_by(run) {
                for digit in 0..DIGITS {
                    let mut halves = s.byte_pairs(groups[first], spread(digit, first));
                    for g in first + 1..N.min(first + run) {
                        let pairs = s.byte_pairs(groups[g], spread(digit, g));
                        halves = s.add_halves(halves, pairs);
                    }
                    let words = s.half_pairs(halves, s.words(0x0001_0001));
                    sums[digit] = s.add_words(sums[digit], words);
                }
            }
        }
    }
    // The lower two are exact together: 2²⁰ at most, shifted by eight.
    let lower = if bits::<S, F>() == 7 {
        s.add_words(s.shl::<7>(sums[1]), sums[2])
    } else {
        s.add_words(s.shl::<8>(sums[1]), sums[2])
    };
    let place = s.splat((1_u32 << (2 * bits::<S, F>())) as f32);
    s.fma(s.floats(sums[0]), place, s.floats(lower))
}

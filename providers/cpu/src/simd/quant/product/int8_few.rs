//! A few rows against a panel as it comes from memory: each group is decoded once, in registers, for all of them.
//!
//! Memory is asked for well before it is needed. Panels lie one behind another, each its quants and then its scales, so a panel's bytes in order,
//! some distance on, are those of the panels to come; the processor's own guesses end at each page, and at each panel's two streams.

use super::int8::{Row, dot, scales, settle, unsigned};
use super::source::Chunk;
use crate::simd::lanes::{Simd, Task};
use crate::simd::quant::panel::Panels;
use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::marker::PhantomData;

/// Bytes between what is multiplied and what is asked for. Of 1 to 16 KiB, 8 and 16 were the fastest, in large pages and in small ones.
pub const AHEAD: usize = 8192;

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// Adds `blocks` blocks of a panel to the accumulators of `rows` rows, 1 to 4, `S::LANES` floats each.
///
/// # Safety
/// The chunk and the rows hold the blocks; the accumulators are writable.
pub unsafe fn run<S: Simd, F: Panels>(
    s: S,
    chunk: Chunk,
    blocks: usize,
    rows: usize,
    row: impl Fn(usize) -> Row,
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
    rows: [Row; R],
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
                    let scales = scales::<S, F>(s, head, part);
                    for r in 0..R {
                        let Row { q, d, x } = self.rows[r];
                        let q = q.add(32 * at);
                        let sums = if F::SPLIT {
                            [
                                dot::<S, F, 4>(s, &groups[..4], q),
                                dot::<S, F, 4>(s, &groups[4..], q.add(16)),
                            ]
                        } else {
                            [dot::<S, F, 8>(s, &groups, q); 2]
                        };
                        acc[r] = settle::<S, F>(s, acc[r], sums, scales, d.add(at), x.add(2 * at));
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

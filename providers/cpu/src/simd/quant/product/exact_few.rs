//! One row or two against panels as they come from memory.

use super::PANELS;
use super::exact::{Floats, SIDE_BY_SIDE, affine, value};
use super::source::Chunk;
use crate::simd::lanes::{Simd, Task};
use crate::simd::quant::panel::Panels;
use core::marker::PhantomData;

/// Adds `blocks` blocks of the panels to the accumulators of one row (of `SIDE_BY_SIDE` panels) or two (of `PANELS`).
///
/// # Safety
/// The chunks and the rows hold the blocks; the accumulators are writable.
pub unsafe fn run<S: Simd, F: Panels>(
    s: S,
    chunk: impl Fn(usize) -> Chunk,
    blocks: usize,
    rows: usize,
    floats: Floats,
    acc: *mut f32,
) {
    if rows == 1 {
        s.run(Few::<F, 1, SIDE_BY_SIDE> {
            chunks: core::array::from_fn(chunk),
            blocks,
            rows: [floats.row(0)],
            acc,
            format: PhantomData,
        });
    } else {
        s.run(Few::<F, 2, PANELS> {
            chunks: core::array::from_fn(chunk),
            blocks,
            rows: [floats.row(0), floats.row(1)],
            acc,
            format: PhantomData,
        });
    }
}

struct Few<F, const R: usize, const C: usize> {
    chunks: [Chunk; C],
    blocks: usize,
    rows: [*const f32; R],
    acc: *mut f32,
    format: PhantomData<F>,
}

impl<F: Panels, const R: usize, const C: usize> Task for Few<F, R, C> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        // SAFETY: the contract of `run`.
        unsafe {
            let place = |r: usize, c: usize| self.acc.add((r * C + c) * S::LANES);
            let mut acc = [[s.splat(0.0); C]; R];
            let mut at = 0;
            for block in 0..self.blocks {
                let (body, head) = (block * F::BODY * S::LANES, block * F::HEAD * S::LANES);
                for part in 0..F::ELEMENTS / 32 {
                    let mut scales = [(s.splat(0.0), s.splat(0.0)); C];
                    for g in 0..8 {
                        if g == 0 || (g == 4 && F::SPLIT) {
                            for c in 0..C {
                                let head = self.chunks[c].head.add(head);
                                scales[c] = affine::<S, F>(s, head, part, g / 4);
                            }
                        }
                        let mut groups = [s.words(0); C];
                        for c in 0..C {
                            groups[c] = F::group(s, self.chunks[c].body.add(body), part, g);
                        }
                        for i in 0..4 {
                            let mut x = [s.splat(0.0); R];
                            for r in 0..R {
                                x[r] = s.splat(self.rows[r].add(at + 4 * g + i).read());
                            }
                            for c in 0..C {
                                let w = value::<S, F>(s, groups[c], i, scales[c]);
                                for r in 0..R {
                                    acc[r][c] = s.fma(w, x[r], acc[r][c]);
                                }
                            }
                        }
                    }
                    at += 32;
                }
            }
            for r in 0..R {
                for c in 0..C {
                    let to = place(r, c);
                    s.store(to, s.add(s.load(to), acc[r][c]));
                }
            }
        }
    }
}

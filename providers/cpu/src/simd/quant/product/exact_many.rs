//! Many rows against panels decoded to f32 in the cache: element by element of k, the columns of a pair of panels.

use super::PANELS;
use super::exact::{Floats, affine, value};
use super::source::Chunk;
use crate::simd::lanes::{Simd, Task};
use crate::simd::quant::panel::Panels;
use core::marker::PhantomData;

/// Decodes a chunk of panel `panel` of the pair.
///
/// # Safety
/// The chunk holds the blocks; `to` has room for `PANELS · S::LANES` floats an element.
pub unsafe fn decode<S: Simd, F: Panels>(
    s: S,
    chunk: Chunk,
    blocks: usize,
    panel: usize,
    to: *mut f32,
) {
    s.run(Decode::<F> {
        chunk,
        blocks,
        to: to.wrapping_add(panel * S::LANES),
        format: PhantomData,
    });
}

struct Decode<F> {
    chunk: Chunk,
    blocks: usize,
    to: *mut f32,
    format: PhantomData<F>,
}

impl<F: Panels> Task for Decode<F> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Chunk { mut body, mut head } = self.chunk;
        let mut to = self.to;
        // SAFETY: the contract of `decode`.
        unsafe {
            for _ in 0..self.blocks {
                for part in 0..F::ELEMENTS / 32 {
                    let mut scales = affine::<S, F>(s, head, part, 0);
                    for g in 0..8 {
                        if g == 4 && F::SPLIT {
                            scales = affine::<S, F>(s, head, part, 1);
                        }
                        let group = F::group(s, body, part, g);
                        for i in 0..4 {
                            s.store(to, value::<S, F>(s, group, i, scales));
                            to = to.wrapping_add(PANELS * S::LANES);
                        }
                    }
                }
                body = body.add(F::BODY * S::LANES);
                head = head.add(F::HEAD * S::LANES);
            }
        }
    }
}

/// Adds `count` decoded elements to the accumulators of `rows` rows, `PANELS · S::LANES` floats each.
///
/// # Safety
/// The elements are decoded, the rows hold them, the accumulators are writable.
pub unsafe fn run<S: Simd>(
    s: S,
    decoded: *const f32,
    count: usize,
    rows: usize,
    floats: Floats,
    acc: *mut f32,
) {
    let mut first = 0;
    while first < rows {
        let acc = acc.wrapping_add(first * PANELS * S::LANES);
        macro_rules! task {
            ($r:literal) => {{
                s.run(Tile::<$r> {
                    decoded,
                    count,
                    rows: core::array::from_fn(|r| floats.row(first + r)),
                    acc,
                });
                first += $r;
            }};
        }
        match rows - first {
            1 => task!(1),
            2 => task!(2),
            3 => task!(3),
            4 | 5 | 8 | 10 => task!(4),
            7 => task!(4),
            _ => task!(6),
        }
    }
}

struct Tile<const R: usize> {
    decoded: *const f32,
    count: usize,
    rows: [*const f32; R],
    acc: *mut f32,
}

impl<const R: usize> Task for Tile<R> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        // SAFETY: the contract of `run`.
        unsafe {
            let place = |r: usize, c: usize| self.acc.add((r * PANELS + c) * S::LANES);
            let mut acc = [[s.splat(0.0); PANELS]; R];
            for k in 0..self.count {
                let mut w = [s.splat(0.0); PANELS];
                for c in 0..PANELS {
                    w[c] = s.load(self.decoded.add((k * PANELS + c) * S::LANES));
                }
                for r in 0..R {
                    let x = s.splat(self.rows[r].add(k).read());
                    for c in 0..PANELS {
                        acc[r][c] = s.fma(w[c], x, acc[r][c]);
                    }
                }
            }
            for r in 0..R {
                for c in 0..PANELS {
                    let to = place(r, c);
                    s.store(to, s.add(s.load(to), acc[r][c]));
                }
            }
        }
    }
}

//! Many rows against panels decoded in the cache.
//!
//! A decoded part of one pair of panels: groups, then the scales of both halves, then the offsets; inside each, panel by panel.
//! Groups are vectors of bytes, or, where bytes cannot be multiplied without overflow, pairs of vectors of 16-bit halves.

use super::PANELS;
use super::activations::Rows;
use super::int8::{DEPTH, Row, Scales, run as run_length, scales, settle, spread, unsigned};
use super::source::Chunk;
use crate::simd::lanes::{Simd, Task};
use crate::simd::quant::panel::Panels;
use core::marker::PhantomData;

/// Vectors of a decoded part before its scales, at most.
const GROUPS: usize = 16 * PANELS;
/// Vectors of a decoded part.
const PART: usize = GROUPS + 3 * PANELS;

pub const fn decoded_floats<S: Simd>() -> usize {
    DEPTH / 32 * PART * S::LANES
}

/// Decodes a chunk of panel `panel` of the pair.
///
/// # Safety
/// The chunk holds the blocks, `to` has [`decoded_floats`].
pub unsafe fn decode<S: Simd, F: Panels>(
    s: S,
    chunk: Chunk,
    blocks: usize,
    panel: usize,
    halves: bool,
    to: *mut f32,
) {
    s.run(Decode::<F> {
        chunk,
        blocks,
        panel,
        halves,
        to,
        format: PhantomData,
    });
}

struct Decode<F> {
    chunk: Chunk,
    blocks: usize,
    panel: usize,
    halves: bool,
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
            let place =
                |to: *mut f32, vector: usize| to.add((vector * PANELS + self.panel) * S::LANES);
            for _ in 0..self.blocks {
                for part in 0..F::ELEMENTS / 32 {
                    for g in 0..8 {
                        let group = F::group(s, body, part, g);
                        if F::SIGNED && self.halves {
                            s.store_words(place(to, 2 * g).cast(), s.first_halves(group));
                            s.store_words(place(to, 2 * g + 1).cast(), s.last_halves(group));
                        } else {
                            s.store_words(place(to, g).cast(), unsigned::<S, F>(s, group));
                        }
                    }
                    let Scales { scale, offset } = scales::<S, F>(s, head, part);
                    s.store(place(to, 16), scale[0]);
                    if F::SPLIT {
                        s.store(place(to, 17), scale[1]);
                    }
                    if F::OFFSETS {
                        s.store(place(to, 18), offset);
                    }
                    to = to.add(PART * S::LANES);
                }
                body = body.add(F::BODY * S::LANES);
                head = head.add(F::HEAD * S::LANES);
            }
        }
    }
}

/// Adds `parts` decoded parts to the accumulators of `count` rows, `PANELS · S::LANES` floats each.
///
/// # Safety
/// The parts are decoded, the rows hold them, the accumulators are writable.
pub unsafe fn run<S: Simd, F: Panels>(
    s: S,
    decoded: *const f32,
    parts: usize,
    rows: Rows,
    count: usize,
    row: impl Fn(usize) -> Row,
    acc: *mut f32,
) {
    let mut first = 0;
    while first < count {
        let acc = acc.wrapping_add(first * PANELS * S::LANES);
        macro_rules! task {
            ($r:literal) => {{
                s.run(Tile::<F, $r> {
                    decoded,
                    parts,
                    halves: rows.halves,
                    rows: core::array::from_fn(|r| row(first + r)),
                    acc,
                    format: PhantomData,
                });
                first += $r;
            }};
        }
        match count - first {
            1 => task!(1),
            2 => task!(2),
            3 => task!(3),
            _ => task!(4),
        }
    }
}

struct Tile<F, const R: usize> {
    decoded: *const f32,
    parts: usize,
    halves: bool,
    rows: [Row; R],
    acc: *mut f32,
    format: PhantomData<F>,
}

impl<F: Panels, const R: usize> Task for Tile<F, R> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        // SAFETY: the contract of `run`.
        unsafe {
            let mut acc = [[s.splat(0.0); PANELS]; R];
            let place = |r: usize, c: usize| self.acc.add((r * PANELS + c) * S::LANES);
            for r in 0..R {
                for c in 0..PANELS {
                    acc[r][c] = s.load(place(r, c));
                }
            }
            let mut decoded = self.decoded;
            for part in 0..self.parts {
                let vector = |v: usize, c: usize| decoded.add((v * PANELS + c) * S::LANES);
                let mut sums = [[[s.words(0); 2]; PANELS]; R];
                if F::SIGNED && self.halves {
                    half_products::<S, R>(s, decoded, part, &self.rows, 0, &mut sums);
                    half_products::<S, R>(s, decoded, part, &self.rows, 8, &mut sums);
                } else {
                    products::<S, F, R>(s, decoded, part, &self.rows, &mut sums);
                }
                let none = Scales {
                    scale: [s.splat(0.0); 2],
                    offset: s.splat(0.0),
                };
                let mut scales = [none; PANELS];
                for c in 0..PANELS {
                    scales[c].scale[0] = s.load(vector(16, c));
                    if F::SPLIT {
                        scales[c].scale[1] = s.load(vector(17, c));
                    }
                    if F::OFFSETS {
                        scales[c].offset = s.load(vector(18, c));
                    }
                }
                for r in 0..R {
                    let Row { d, x, .. } = self.rows[r];
                    for c in 0..PANELS {
                        let (d, x) = (d.add(part), x.add(2 * part));
                        acc[r][c] = settle::<S, F>(s, acc[r][c], sums[r][c], scales[c], d, x);
                    }
                }
                decoded = decoded.add(PART * S::LANES);
            }
            for r in 0..R {
                for c in 0..PANELS {
                    s.store(place(r, c), acc[r][c]);
                }
            }
        }
    }
}

/// The sums of eight pairs of 16-bit integers of one part, from pair `first` on, for a tile. In two halves because a loop over all
/// is too long to be unrolled, and its end is hard to predict.
///
/// # Safety
/// As for [`run`].
#[inline(always)]
unsafe fn half_products<S: Simd, const R: usize>(
    s: S,
    decoded: *const f32,
    part: usize,
    rows: &[Row; R],
    first: usize,
    sums: &mut [[[S::I; 2]; PANELS]; R],
) {
    for pair in first..first + 8 {
        let mut w = [s.words(0); PANELS];
        for c in 0..PANELS {
            // SAFETY: the same contract.
            w[c] = unsafe { s.load_words(decoded.add((pair * PANELS + c) * S::LANES).cast()) };
        }
        for r in 0..R {
            // SAFETY: the same contract.
            let q = unsafe { spread(s, rows[r].q.add(64 * part + 4 * pair)) };
            for c in 0..PANELS {
                let pairs = s.half_pairs(w[c], q);
                // Else the compiler goes row by row, and spills every register.
                sums[r][c][0] = s.opaque(s.add_words(sums[r][c][0], pairs));
            }
        }
    }
}

/// Groups whose products are added before they are widened: all of a scale where one instruction does both.
const fn run_of<S: Simd, F: Panels>() -> usize {
    let groups = if F::SPLIT { 4 } else { 8 };
    if S::QUADS || F::SIGNED {
        return groups;
    }
    run_length(F::LIMIT)
}

/// The integer sums of one part for a tile.
///
/// # Safety
/// As for [`run`].
#[inline(always)]
unsafe fn products<S: Simd, F: Panels, const R: usize>(
    s: S,
    decoded: *const f32,
    part: usize,
    rows: &[Row; R],
    sums: &mut [[[S::I; 2]; PANELS]; R],
) {
    let vector = |v: usize, c: usize| decoded.wrapping_add((v * PANELS + c) * S::LANES);
    let (halves, groups) = if F::SPLIT { (2, 4) } else { (1, 8) };
    let run = const { run_of::<S, F>() };
    for half in 0..halves {
        for first in (half * groups..(half + 1) * groups).step_by(run) {
            let mut pairs = [[s.words(0); PANELS]; R];
            for g in first..first + run {
                let mut w = [s.words(0); PANELS];
                for c in 0..PANELS {
                    // SAFETY: the same contract.
                    w[c] = unsafe { s.load_words(vector(g, c).cast()) };
                }
                for r in 0..R {
                    // SAFETY: the same contract.
                    let q = unsafe { spread(s, rows[r].q.add(32 * part + 4 * g)) };
                    for c in 0..PANELS {
                        pairs[r][c] = if S::QUADS {
                            s.quads(pairs[r][c], w[c], q)
                        } else {
                            s.add_halves(pairs[r][c], s.byte_pairs(w[c], q))
                        };
                        pairs[r][c] = s.opaque(pairs[r][c]);
                    }
                }
            }
            for r in 0..R {
                for c in 0..PANELS {
                    let words = if S::QUADS {
                        pairs[r][c]
                    } else {
                        s.half_pairs(pairs[r][c], s.words(0x0001_0001))
                    };
                    sums[r][c][half] = s.add_words(sums[r][c][half], words);
                }
            }
        }
    }
}

//! More rows of `a`: blocks of both operands are laid out for register tiles of `P::ROWS` rows by two vectors of columns.
//!
//! A panel of `b`, two vectors of columns by [`BLOCK`] elements of *k*, stays in the first-level cache while all rows of a
//! block of `a` go over it; that block, and the panels of a block of columns, stay in the second. So a tile reads little from
//! beyond the first level for each multiply-add. With few rows there is one panel at a time, and the rows of `b` are followed
//! to their ends, as the memory likes it.

use super::super::lanes::Simd;
use super::super::scratch::{Cutter, len_for};
use super::ahead::Ahead;
use super::finish::{Finish, bias};
use super::lay_out::{LayOutB, a_stride, lay_out_a};
use super::panel::{PanelTask, Panels, height, with_rows, with_type};
use super::{BLOCK, MatmulArgs};
use core::ops::Range;

/// Rows of `a` in a block.
const ROWS: usize = 84;
/// Up to this many rows all of *k* is laid out at once, and columns go by single panels.
pub const FEW: usize = 96;
/// Columns in a block otherwise: laying out a block of `a` is paid once for them.
pub const COLUMNS: usize = 256;
/// Rows of which the sums are kept at a time.
const TALL: usize = 768;

/// What is laid out at a time.
struct Sizes {
    /// Rows of `a`, and blocks of *k*.
    rows: usize,
    blocks: usize,
    /// Columns, and rows of sums.
    columns: usize,
    tall: usize,
}

impl Sizes {
    fn new<P: Panels>(m: usize, k: usize) -> Self {
        let width = 2 * P::S::LANES;
        if m <= FEW {
            let blocks = k.div_ceil(BLOCK).max(1);
            Sizes {
                rows: m,
                blocks,
                columns: width,
                tall: m,
            }
        } else {
            Sizes {
                rows: m.min(ROWS),
                blocks: 1,
                columns: COLUMNS,
                tall: m.min(TALL),
            }
        }
    }

    fn parts<P: Panels>(&self) -> [usize; 4] {
        [
            self.rows * self.blocks * a_stride::<P>(),
            self.columns * BLOCK / P::PER_WORD,
            self.tall * self.columns,
            self.columns,
        ]
    }
}

pub fn scratch_len<P: Panels>(_: P, args: &MatmulArgs) -> usize {
    // A worker may be given fewer rows than there are.
    let few = Sizes::new::<P>(args.m.min(FEW), args.k).parts::<P>();
    let all = Sizes::new::<P>(args.m, args.k).parts::<P>();
    len_for(&few).max(len_for(&all))
}

/// # Safety
/// As for [`super::rows`].
pub unsafe fn rows<P: Panels>(
    p: P,
    args: &MatmulArgs,
    m: Range<usize>,
    n: Range<usize>,
    scratch: &mut [f32],
) {
    let sizes = Sizes::new::<P>(m.len(), args.k);
    let [a, b, sums, decoded] = sizes.parts::<P>();
    let mut cutter = Cutter::new(scratch);
    let (a, b) = (cutter.cut(a), cutter.cut(b));
    let (sums, decoded) = (cutter.cut(sums), cutter.cut(decoded));
    let whole = m.len() <= FEW;
    if whole {
        for (block, at) in (0..args.k).step_by(BLOCK).enumerate() {
            let to = &mut a[block * m.len() * a_stride::<P>()..];
            // SAFETY: the rows are the caller's.
            unsafe { lay_out_a(p, args, m.clone(), at, to) };
        }
    }
    let (width, last) = (2 * P::S::LANES, n.end);
    for column in n.clone().step_by(sizes.columns) {
        let n = column..n.end.min(column + sizes.columns);
        // SAFETY: the columns are the caller's.
        let bias = unsafe { bias(args, n.clone(), decoded) };
        // The row and element of `b` where the panel after this one begins.
        let next = |panel: &Range<usize>, k: &Range<usize>| {
            if panel.end < n.end {
                Some((panel.end, k.start))
            } else if k.end < args.k {
                Some((n.start, k.end))
            } else {
                Some((n.end, 0)).filter(|(row, _)| *row < last)
            }
        };
        for top in m.clone().step_by(sizes.tall) {
            let m = top..m.end.min(top + sizes.tall);
            let mut at = 0;
            loop {
                let k = at..args.k.min(at + BLOCK);
                for row in m.clone().step_by(sizes.rows) {
                    let rows = row..m.end.min(row + sizes.rows);
                    let a = if whole {
                        a[at / BLOCK * rows.len() * a_stride::<P>()..].as_ptr()
                    } else {
                        // SAFETY: the rows are the caller's.
                        unsafe { lay_out_a(p, args, rows.clone(), at, a) };
                        a.as_ptr()
                    };
                    for first in (0..n.len()).step_by(width) {
                        let n = n.start + first..n.end.min(n.start + first + width);
                        let b = &mut b[first * BLOCK / P::PER_WORD..];
                        // The first rows find the panel not laid out, and ask for what the next one is made of.
                        let fresh = row == top;
                        if fresh {
                            let (n, k, to) = (n.clone(), k.clone(), &mut *b);
                            with_type!(args.b_type, TY => p.run(LayOutB::<TY> { args, n, k, to }));
                        }
                        // Of a panel all rows' sums lie together.
                        let sums = sums[first * sizes.tall + (row - top) * width..].as_mut_ptr();
                        let strip = Strip {
                            a: a.cast(),
                            b: b.as_ptr(),
                            sums,
                            rows: rows.len(),
                            steps: k.len().div_ceil(P::PER_WORD),
                            first: at == 0,
                            ahead: Ahead::new(
                                args,
                                if fresh { next(&n, &k) } else { None },
                                rows.len(),
                            ),
                        };
                        strip.multiply(p);
                        if k.end == args.k {
                            let bias = if bias.is_null() {
                                bias
                            } else {
                                decoded[first..].as_ptr()
                            };
                            let m = rows.clone();
                            p.run(Write(Finish {
                                args,
                                bias,
                                sums,
                                stride: width,
                                m,
                                n,
                            }));
                        }
                    }
                }
                at = k.end;
                if at >= args.k {
                    break;
                }
            }
        }
    }
}

/// Writes a tile of the output.
struct Write<'a>(Finish<'a>);

impl PanelTask for Write<'_> {
    #[inline(always)]
    fn run<P: Panels>(self, p: P) {
        self.0.write(p.simd());
    }
}

/// Laid-out rows of `a` against a panel of `b`.
#[derive(Clone, Copy)]
struct Strip {
    a: *const u32,
    b: *const f32,
    /// Two vectors for each row.
    sums: *mut f32,
    rows: usize,
    /// Words of *k*.
    steps: usize,
    /// There is nothing in `sums` yet.
    first: bool,
    ahead: Ahead,
}

impl Strip {
    fn multiply<P: Panels>(mut self, p: P) {
        let tall = height::<P>(self.rows);
        let mut left = self.rows;
        while left > 0 {
            let (rows, tile) = if left >= tall {
                (left - left % tall, tall)
            } else {
                (left, left)
            };
            self.rows = rows;
            with_rows!(P, tile, R => p.run(Tiles::<R>(self)));
            self.a = self.a.wrapping_add(rows * a_stride::<P>());
            self.sums = self.sums.wrapping_add(rows * 2 * P::S::LANES);
            left -= rows;
        }
    }
}

/// A strip in tiles of `R` rows, which divides its rows.
struct Tiles<const R: usize>(Strip);

impl<const R: usize> PanelTask for Tiles<R> {
    #[inline(always)]
    fn run<P: Panels>(self, p: P) {
        let (s, lanes) = (p.simd(), P::S::LANES);
        let mut strip = self.0;
        for row in (0..strip.rows).step_by(R) {
            strip.ahead.ask(R);
            // SAFETY: the laid-out blocks and the sums have the sizes that the fields state.
            unsafe {
                let a = strip.a.add(row * a_stride::<P>());
                let sums = strip.sums.add(row * 2 * lanes);
                let mut acc = [[s.splat(0.0); 2]; R];
                for step in 0..strip.steps {
                    let b = strip.b.add(step * 2 * lanes);
                    let b = [s.load(b), s.load(b.add(lanes))];
                    for i in 0..R {
                        let x = p.spread(a.add(i * a_stride::<P>() + step));
                        acc[i][0] = p.multiply_add(x, b[0], acc[i][0]);
                        acc[i][1] = p.multiply_add(x, b[1], acc[i][1]);
                    }
                }
                for i in 0..R {
                    for j in 0..2 {
                        let to = sums.add((2 * i + j) * lanes);
                        if !strip.first {
                            acc[i][j] = s.add(s.load(to), acc[i][j]);
                        }
                        s.store(to, acc[i][j]);
                    }
                }
            }
        }
    }
}

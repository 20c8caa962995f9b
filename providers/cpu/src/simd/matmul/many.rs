//! Many rows of `a`: blocks of both operands are packed as f32, and tiles of accumulators go over them.
//!
//! A block of [`ROWS`] rows of `a` by [`DEPTH`] elements stays in the second-level cache, a strip of four rows of `b` in the
//! first. Between blocks of *k* the accumulators rest in memory as whole vectors, so that cutting *k* does not change the
//! order of the sums.

use super::super::convert::decode;
use super::super::dot::{dot, zero};
use super::super::lanes::{Simd, Task};
use super::super::scratch::{Cutter, len_for};
use super::MatmulArgs;
use super::finish::finish;
use core::ops::Range;

/// Rows of `a` in a block: a multiple of every tile height.
const ROWS: usize = 96;
/// Columns of the output in a block: packing a block of `a` is paid once for them. Their accumulators need not stay in the
/// second-level cache, since each is touched once for [`DEPTH`] elements.
pub const COLUMNS: usize = 256;
/// Elements of *k* in a block: a multiple of the lanes of every instruction set.
const DEPTH: usize = 512;
/// Columns of a tile.
const WIDTH: usize = 4;

pub fn scratch_len<S: Simd>(_s: S, k: usize) -> usize {
    let depth = k.next_multiple_of(S::LANES).min(DEPTH);
    len_for(&[ROWS * depth, WIDTH * depth, ROWS * COLUMNS * S::LANES])
}

/// # Safety
/// As for [`super::rows`].
pub unsafe fn rows<S: Simd>(
    s: S,
    args: &MatmulArgs,
    m: Range<usize>,
    n: Range<usize>,
    scratch: &mut [f32],
) {
    const {
        assert!(
            ROWS.is_multiple_of(S::ROWS)
                && COLUMNS.is_multiple_of(WIDTH)
                && DEPTH.is_multiple_of(S::LANES)
        )
    };
    let depth = args.k.next_multiple_of(S::LANES).min(DEPTH);
    let mut cutter = Cutter::new(scratch);
    let a = cutter.cut(ROWS * depth);
    let b = cutter.cut(WIDTH * depth);
    let acc = cutter.cut(ROWS * COLUMNS * S::LANES);
    for column in n.clone().step_by(COLUMNS) {
        for row in m.clone().step_by(ROWS) {
            let block = Block {
                args,
                m: row..m.end.min(row + ROWS),
                n: column..n.end.min(column + COLUMNS),
            };
            // SAFETY: the block lies in the caller's ranges.
            unsafe { block.multiply(s, a, b, acc) };
            let acc = acc.as_ptr();
            match S::ROWS {
                3 => s.run(Finish::<3> { block, acc }),
                6 => s.run(Finish::<6> { block, acc }),
                rows => unreachable!("no tile of {rows} rows"),
            }
        }
    }
}

/// One block of the output. Holds the contract of [`super::rows`] for its ranges.
struct Block<'a> {
    args: &'a MatmulArgs,
    m: Range<usize>,
    n: Range<usize>,
}

impl Block<'_> {
    /// Leaves the accumulators of all tiles in `acc`: by strip of columns, then by strip of rows.
    ///
    /// # Safety
    /// As for [`super::rows`].
    unsafe fn multiply<S: Simd>(&self, s: S, a: &mut [f32], b: &mut [f32], acc: &mut [f32]) {
        let args = self.args;
        let mut at = 0;
        loop {
            let depth = (args.k - at).min(DEPTH);
            let padded = depth.next_multiple_of(S::LANES);
            let rows = self.m.len().next_multiple_of(S::ROWS);
            for i in 0..rows {
                // Rows past the end only fill up the last tile: they are zero, and their sums are dropped.
                let n = if i < self.m.len() { depth } else { 0 };
                let from = args.a_row((self.m.start + i).min(self.m.end - 1));
                // SAFETY: `at + n` elements of the row are readable; `a` holds ROWS rows of at least `padded` floats.
                unsafe {
                    let from = from.wrapping_add(at * args.a_type.bytes());
                    decode(
                        s,
                        args.a_type,
                        from,
                        a.as_mut_ptr().add(i * padded),
                        n,
                        padded,
                    );
                }
            }
            let mut tiles = acc.as_mut_ptr();
            for column in self.n.clone().step_by(WIDTH) {
                for j in 0..WIDTH {
                    let n = if column + j < self.n.end { depth } else { 0 };
                    let from = args.b_row((column + j).min(self.n.end - 1));
                    // SAFETY: as for a.
                    unsafe {
                        let from = from.wrapping_add(at * args.b_type.bytes());
                        decode(
                            s,
                            args.b_type,
                            from,
                            b.as_mut_ptr().add(j * padded),
                            n,
                            padded,
                        );
                    }
                }
                let (a, b) = (a.as_ptr(), b.as_ptr());
                let first = at == 0;
                match S::ROWS {
                    3 => s.run(Strip::<3> {
                        a,
                        b,
                        padded,
                        rows,
                        tiles,
                        first,
                    }),
                    6 => s.run(Strip::<6> {
                        a,
                        b,
                        padded,
                        rows,
                        tiles,
                        first,
                    }),
                    rows => unreachable!("no tile of {rows} rows"),
                }
                // SAFETY: `acc` has room for ROWS·COLUMNS vectors, and this strip took rows·WIDTH of them.
                tiles = unsafe { tiles.add(rows * WIDTH * S::LANES) };
            }
            at += depth;
            if at >= args.k {
                break;
            }
        }
    }
}

/// All packed rows of `a` against one packed strip of `b`: adds to the strip's tiles.
struct Strip<const R: usize> {
    /// `rows` rows, `padded` floats each.
    a: *const f32,
    /// [`WIDTH`] rows, `padded` floats each.
    b: *const f32,
    padded: usize,
    rows: usize,
    tiles: *mut f32,
    /// The tiles hold nothing yet.
    first: bool,
}

impl<const R: usize> Task for Strip<R> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for row in (0..self.rows).step_by(R) {
            // SAFETY: the packed blocks and the tiles have the sizes that their fields state.
            unsafe {
                let a = self.a.add(row * self.padded);
                let b =
                    core::array::from_fn::<_, WIDTH, _>(|j| self.b.wrapping_add(j * self.padded));
                let tile = self.tiles.add(row * WIDTH * S::LANES);
                let mut acc = zero::<S, R, WIDTH>(s);
                if !self.first {
                    for i in 0..R {
                        for j in 0..WIDTH {
                            acc[i][j] = s.load(tile.add((i * WIDTH + j) * S::LANES));
                        }
                    }
                }
                let acc = dot::<S, f32, R, WIDTH>(s, a, self.padded, b, self.padded, acc);
                for i in 0..R {
                    for j in 0..WIDTH {
                        s.store(tile.add((i * WIDTH + j) * S::LANES), acc[i][j]);
                    }
                }
            }
        }
    }
}

/// Adds up the lanes of a block's tiles and writes the outputs.
struct Finish<'a, const R: usize> {
    block: Block<'a>,
    acc: *const f32,
}

impl<const R: usize> Task for Finish<'_, R> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Block { args, m, n } = self.block;
        let rows = m.len().next_multiple_of(R);
        for (strip, column) in n.clone().step_by(WIDTH).enumerate() {
            for i in 0..m.len() {
                // SAFETY: `multiply` has filled rows·WIDTH vectors for each strip, row by row. The output lies in the ranges.
                unsafe {
                    let row = self.acc.add((strip * rows + i) * WIDTH * S::LANES);
                    let sums = s.sum4([
                        s.load(row),
                        s.load(row.add(S::LANES)),
                        s.load(row.add(2 * S::LANES)),
                        s.load(row.add(3 * S::LANES)),
                    ]);
                    finish(args, m.start + i, column, sums, n.end);
                }
            }
        }
    }
}

//! Few rows of `a`: the rows of `b` stream from memory once, decoded in registers.

use super::super::convert::decode;
use super::super::dot::{dot, next_height, with_height, zero};
use super::super::elem::{Elem, with_elem};
use super::super::lanes::{Simd, Task};
use super::super::scratch::{Cutter, len_for};
use super::finish::finish;
use super::{FEW, MatmulArgs};
use core::marker::PhantomData;
use core::ops::Range;

/// Rows of `b` read side by side for one row of `a`: enough accumulators to cover the latency of a multiply-add, and
/// streams that the memory can work on at once.
const STREAMS: usize = 8;

pub fn scratch_len<S: Simd>(_s: S, k: usize) -> usize {
    len_for(&[FEW * k.next_multiple_of(S::LANES)])
}

/// # Safety
/// As for [`super::rows`], with at most [`FEW`] rows.
pub unsafe fn rows<S: Simd>(
    s: S,
    args: &MatmulArgs,
    m: Range<usize>,
    n: Range<usize>,
    scratch: &mut [f32],
) {
    let padded = args.k.next_multiple_of(S::LANES);
    let a = Cutter::new(scratch).cut(m.len() * padded);
    for (row, to) in m.clone().zip(a.chunks_exact_mut(padded.max(1))) {
        // SAFETY: the row is readable by the caller's contract; `to` holds the padded row.
        unsafe {
            decode(
                s,
                args.a_type,
                args.a_row(row),
                to.as_mut_ptr(),
                args.k,
                padded,
            )
        };
    }
    let a = a.as_ptr();
    if m.len() == 1 {
        with_elem!(args.b_type, B => s.run(Columns::<B, 1, STREAMS> { args, a, padded, m, n, elem: PhantomData }));
        return;
    }
    // Sixteen rows of b at a time, so that every tile of rows but the first finds them in the cache.
    let mut column = n.start;
    while column < n.end {
        let columns = column..n.end.min(column + 16);
        let mut row = m.start;
        while row < m.end {
            let height = next_height::<S>(m.end - row);
            // SAFETY: the row lies in the decoded block.
            let a = unsafe { a.add((row - m.start) * padded) };
            let (m, n) = (row..row + height, columns.clone());
            with_height!(S, height, R => with_elem!(args.b_type, B => {
                s.run(Columns::<B, R, 4> { args, a, padded, m, n, elem: PhantomData })
            }));
            row += height;
        }
        column = columns.end;
    }
}

/// `R` rows of `a` against the columns `n`, `C` at a time. Holds the contract of [`super::rows`].
struct Columns<'a, B, const R: usize, const C: usize> {
    args: &'a MatmulArgs,
    /// Decoded rows, `padded` floats apart.
    a: *const f32,
    padded: usize,
    m: Range<usize>,
    n: Range<usize>,
    elem: PhantomData<B>,
}

impl<B: Elem, const R: usize, const C: usize> Task for Columns<'_, B, R, C> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let mut column = self.n.start;
        while column < self.n.end {
            let mut b = [core::ptr::null::<B>(); C];
            for (j, b) in b.iter_mut().enumerate() {
                // Past the last column the last row is read again; its sums are dropped.
                *b = self.args.b_row((column + j).min(self.n.end - 1)).cast();
            }
            // SAFETY: the rows of b lie in n and are readable; a is decoded and padded to whole vectors with zeros.
            let acc = unsafe {
                dot::<S, B, R, C>(s, self.a, self.padded, b, self.args.k, zero::<S, R, C>(s))
            };
            for (i, row) in acc.iter().enumerate() {
                for j in (0..C).step_by(4) {
                    let sums = s.sum4([row[j], row[j + 1], row[j + 2], row[j + 3]]);
                    // SAFETY: row and columns lie in the caller's ranges; `end` cuts the rest.
                    unsafe { finish(self.args, self.m.start + i, column + j, sums, self.n.end) };
                }
            }
            column += C;
        }
    }
}

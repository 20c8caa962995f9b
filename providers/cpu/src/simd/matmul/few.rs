//! Few rows of `a`: the rows of `b` stream from memory once, decoded in registers.
//!
//! The sums are those of `dot.rs`, with lanes along *k*: `b` is read as it lies, and needs no turning.

use super::super::convert::decode;
use super::super::dot::{Tile, dot, next_height, with_height, zero};
use super::super::elem::{Elem, with_elem};
use super::super::lanes::{Simd, Task};
use super::super::scratch::{Cutter, len_for};
use super::MatmulArgs;
use super::finish::{Finish, bias};
use super::tail::MOST_LANES;
use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::marker::PhantomData;
use core::ops::Range;

/// Rows of `a` that are decoded at a time.
const ROWS: usize = 24;

/// Rows of `b` read side by side for one row of `a`: enough accumulators to cover the latency of a multiply-add, and
/// streams that the memory can work on at once.
const STREAMS: usize = 8;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Rows of up to so many bytes are too short for the memory to notice that they are read in order.
const SHORT: usize = 4096;

/// Groups of rows between what is multiplied and what is asked for. Two are faster than one, three are not faster than two.
const GROUPS_AHEAD: usize = 2;

pub fn scratch_len<S: Simd>(_s: S, k: usize) -> usize {
    len_for(&[ROWS * k.next_multiple_of(S::LANES)])
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
    let padded = args.k.next_multiple_of(S::LANES);
    let a = Cutter::new(scratch).cut(ROWS * padded);
    for first in m.clone().step_by(ROWS) {
        let m = first..m.end.min(first + ROWS);
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
        // SAFETY: the ranges are the caller's.
        unsafe { block(s, args, m, n.clone(), a.as_ptr(), padded) }
    }
}

/// # Safety
/// As for [`super::rows`]; `a` holds the decoded rows.
unsafe fn block<S: Simd>(
    s: S,
    args: &MatmulArgs,
    m: Range<usize>,
    n: Range<usize>,
    a: *const f32,
    padded: usize,
) {
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
        let k = self.args.k;
        let row = self.args.b_stride as isize * size_of::<B>() as isize;
        // Groups of rows that follow each other, and end before the memory has noticed that each is read in order.
        let short = row == (k * size_of::<B>()) as isize && k * size_of::<B>() <= SHORT;
        let mut column = self.n.start;
        while column < self.n.end {
            let mut b = [core::ptr::null::<B>(); C];
            for (j, b) in b.iter_mut().enumerate() {
                // Past the last column the last row is read again; its sums are dropped.
                *b = self.args.b_row((column + j).min(self.n.end - 1)).cast();
            }
            // SAFETY: the rows of b lie in n and are readable; a is decoded and padded to whole vectors with zeros.
            let acc = unsafe {
                if short {
                    let ahead = row * (C * GROUPS_AHEAD) as isize;
                    stream::<S, B, R, C>(s, self.a, self.padded, b, k, ahead)
                } else {
                    dot(s, self.a, self.padded, b, k, zero::<S, R, C>(s))
                }
            };
            let mut sums = [[0.0; MOST_LANES]; R];
            for (sums, row) in sums.iter_mut().zip(&acc) {
                for j in (0..C).step_by(4) {
                    let four = s.sum4([row[j], row[j + 1], row[j + 2], row[j + 3]]);
                    sums[j..j + 4].copy_from_slice(&four);
                }
            }
            let n = column..self.n.end.min(column + C);
            let mut decoded = [0.0; MOST_LANES];
            // SAFETY: the columns lie in the caller's ranges.
            let bias = unsafe { bias(self.args, n.clone(), &mut decoded) };
            let m = self.m.clone();
            Finish {
                args: self.args,
                bias,
                sums: sums.as_ptr().cast(),
                stride: MOST_LANES,
                m,
                n,
            }
            .write(s);
            column += C;
        }
    }
}

/// The sums of [`dot`], while as many bytes as the rows have are asked for in the order of their addresses, from `ahead` bytes
/// behind the first row on.
///
/// # Safety
/// As for [`dot`].
#[inline(always)]
unsafe fn stream<S: Simd, B: Elem, const R: usize, const C: usize>(
    s: S,
    a: *const f32,
    padded: usize,
    b: [*const B; C],
    k: usize,
    ahead: isize,
) -> Tile<S, R, C> {
    let step = LINE / size_of::<B>();
    let mut line = b[0].cast::<i8>().wrapping_offset(ahead);
    let mut acc = zero::<S, R, C>(s);
    let mut at = 0;
    while at + step <= k {
        for _ in 0..C {
            // SAFETY: memory may be asked for at any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
            line = line.wrapping_add(LINE);
        }
        // SAFETY: the line's elements lie inside the rows, and are whole vectors.
        acc = unsafe { dot(s, a.add(at), padded, b.map(|b| b.add(at)), step, acc) };
        at += step;
    }
    // SAFETY: what is left of the rows.
    unsafe { dot(s, a.add(at), padded, b.map(|b| b.add(at)), k - at, acc) }
}

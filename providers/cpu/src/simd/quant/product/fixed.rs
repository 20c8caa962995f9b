//! Products with activations as they are, by integers: each block of 32 activations becomes fixed point of three digits, a byte
//! each, and the products of every digit with the weights are added as integers.
//!
//! Decoding weights to f32 takes some instructions an element, more than reading 4 to 6 bits of memory leaves time for. Bytes
//! are multiplied by fours, and one decoding to bytes serves all digits of all rows. So few rows go as fast as memory, or nearly.
//!
//! # What it costs in accuracy
//!
//! With 2^e ≤ a block's greatest magnitude < 2^(e + 1), an element is rounded to a multiple of 2^(e − 21), ties to even, and the
//! integer, less than 2²², is written in three digits from −128 to 127. The error is at most 2⁻²² of the block's greatest magnitude. Sums of
//! digits are exact, and three of them make one f32 with two roundings of 2⁻²⁴; an f32 sum of 32 products has 32 of them. So this is
//! as near as the sums in f32 are, whose root mean square the op's tolerance of 2⁻¹⁵ is a share of: an error of 2⁻²² an element adds,
//! for elements of random size and sign, 2⁻²² of a sum's root mean square. Two digits would not do: 2⁻¹⁵ an element is 2⁻¹⁶ of a sum, and
//! the greatest of some thousand sums is four times as far off.
//!
//! *One great element among small ones* takes bits from its 31 neighbours. Their error is still 2⁻²² of that element, whose own
//! product stands in the same sum: of an output's root mean square it is no more than before. An output whose weight for it is zero is further
//! off by its own measure than an f32 sum, not by the row's.
//!
//! *Blocks that fixed point cannot hold* are [odd](super::fixed_odd): with NaN or infinity, or with magnitudes near the ends of f32
//! (below 2⁻¹⁰⁰, from 2¹⁰⁰ on), where a scale would not be a number with all its bits. They count as zeros in the integer sums, and their
//! products in f32 are added at the end: NaN and infinities become what they become in f32.
//!
//! Signed bytes without instructions that take four at a time have digits of seven bits, since sixteen bits must hold two of their products; a
//! multiple is then of 2^(e − 18), eight times as coarse and still sixteen times finer than the tolerance asks.

use super::finish::finish;
use super::fixed_rows::Digits;
use super::source::chunk;
use super::{QuantArgs, ROWS};
use super::{fixed_few, fixed_odd};
use crate::simd::lanes::Simd;
use crate::simd::quant::panel::{Panels, with_panels};
use crate::simd::scratch::{Cutter, len_for};
use core::ops::Range;

/// Elements of k in a chunk that is packed from plain rows at a time.
const DEPTH: usize = 512;
/// Rows that share one decoding of the weights.
const TOGETHER: usize = 4;

/// Bytes of one panel's chunk, packed from plain rows.
fn packed_chunk<S: Simd, F: Panels>() -> usize {
    S::LANES * DEPTH / F::ELEMENTS * F::BYTES
}

pub fn scratch_len<S: Simd>(_s: S, args: &QuantArgs) -> usize {
    let packed = with_panels!(args.b_format, F => packed_chunk::<S, F>());
    len_for(&[packed.div_ceil(4), ROWS * S::LANES])
}

/// # Safety
/// As for [`super::rows`], for at most `ROWS` rows.
pub unsafe fn rows<S: Simd>(
    s: S,
    args: &QuantArgs,
    prepared: *const u8,
    m: Range<usize>,
    n: Range<usize>,
    scratch: &mut [f32],
) {
    // SAFETY: the caller's contract, passed on.
    with_panels!(args.b_format, F => unsafe { rows_of::<S, F>(s, args, prepared, m, n, scratch) });
}

/// # Safety
/// As for [`rows`].
unsafe fn rows_of<S: Simd, F: Panels>(
    s: S,
    args: &QuantArgs,
    prepared: *const u8,
    m: Range<usize>,
    n: Range<usize>,
    scratch: &mut [f32],
) {
    let mut cutter = Cutter::new(scratch);
    let packed = cutter.cut(packed_chunk::<S, F>().div_ceil(4));
    let packed: *mut u8 = packed.as_mut_ptr().cast();
    let acc = &mut cutter.cut(ROWS * S::LANES)[..m.len() * S::LANES];
    let blocks = args.k / F::ELEMENTS;
    let deep = if args.packed {
        blocks.max(1)
    } else {
        DEPTH / F::ELEMENTS
    };
    let row = |r: usize| Digits::of(prepared, args.k, m.start + r);
    for column in n.clone().step_by(S::LANES) {
        acc.fill(0.0);
        let chunk = |block: usize, count: usize| {
            // SAFETY: the panel exists and has the blocks; the buffer holds a chunk, and a longer one only where nothing is packed.
            unsafe { chunk::<F>(args, S::LANES, column / S::LANES, block, count, packed) }
        };
        for block in (0..blocks).step_by(deep) {
            let count = deep.min(blocks - block);
            let chunk = chunk(block, count);
            let part = block * F::ELEMENTS / 32;
            for first in (0..m.len()).step_by(TOGETHER) {
                let together = TOGETHER.min(m.len() - first);
                let row = |r: usize| row(first + r).part(part);
                let acc = acc[first * S::LANES..].as_mut_ptr();
                // SAFETY: chunk and rows hold the blocks; the accumulators hold the rows.
                unsafe { fixed_few::run::<S, F>(s, chunk, count, together, row, acc) };
            }
        }
        for r in 0..m.len() {
            // SAFETY: the row was prepared.
            if unsafe { row(r).has_odd() } {
                let acc = acc[r * S::LANES..].as_mut_ptr();
                // SAFETY: the row was prepared, and is one of the arguments' rows; its accumulators are writable.
                unsafe {
                    fixed_odd::run::<S, F>(s, args, m.start + r, row(r), |b| chunk(b, 1), acc)
                };
            }
        }
        // SAFETY: the accumulators of all rows are there; the ranges are the caller's.
        unsafe {
            finish(
                s,
                args,
                acc.as_ptr(),
                S::LANES,
                (m.start, m.len()),
                column,
                n.end,
            );
        }
    }
}

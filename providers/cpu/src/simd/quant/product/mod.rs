//! `out[M,N] = a[M,K] · b[N,K]ᵀ + bias[N]` with quantised `b`.
//!
//! Lanes run across columns of the output: `b` is read in panels (see [`super::panel`]), packed beforehand or, from the plain
//! layout, as they are needed. Rows of `a` are prepared once for a call in memory that all workers share: as f32, or rounded
//! to 8 bits. One row, or a few, take panels straight from memory; many rows take them from a chunk decoded in the cache.
//!
//! # Order of the sums
//!
//! Exact activations: every weight is decoded to f32 (one rounding at most) and its product added by a fused multiply-add, in
//! ascending *k*, to the one accumulator of its output; after each 256 elements that is added to the output's sum and
//! begins anew. Fixed point and rounded activations: the products of a part of 32 elements are added as
//! integers, exactly, and the sum is added, times the product of both scales, by a fused multiply-add, in ascending order of
//! parts. Neither depends on rows, cuts or threads: the kernels are batch-invariant.

mod activations;
mod exact;
mod exact_few;
mod exact_fp8;
mod exact_many;
mod finish;
mod fixed;
mod fixed_few;
mod fixed_odd;
mod fixed_rows;
mod int8;
mod int8_few;
mod int8_many;
mod source;

use super::formats::Format;
use super::{Set, with_set};
use crate::simd::ElemType;
use crate::simd::lanes::Simd;
use activations::Rows;
use core::ops::Range;

/// What becomes of the activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activations {
    /// They are used as they are.
    Exact,
    /// They are used as they are, to 2⁻²² of the greatest of 32 (see [`fixed`]). For block formats alone, and for few rows.
    Fixed,
    /// They are rounded to 8 bits by blocks of 32 columns. For block formats alone.
    Int8,
}

/// One product. Strides may be of any size and sign; inside a row elements are adjacent.
#[derive(Clone, Copy, Debug)]
pub struct QuantArgs {
    /// First element of a, `[m, k]`.
    pub a: *const u8,
    /// Element type of a.
    pub a_type: ElemType,
    /// Elements from one row of a to the next.
    pub a_stride: i64,
    /// First block of b, `[n, k]`, or its packed memory.
    pub b: *const u8,
    /// A block format or fp8.
    pub b_format: Format,
    /// Elements from one row of b to the next, whole blocks of them. Not used when packed.
    pub b_stride: i64,
    /// `b` is panels of [`Simd::LANES`] rows.
    pub packed: bool,
    /// Scales of fp8, `[⌈n/scale_rows⌉, ⌈k/scale_depth⌉]`; null for none. Not used with block formats.
    pub b_scale: *const f32,
    /// Elements from one row of scales to the next, and from one to its neighbour.
    pub b_scale_strides: [i64; 2],
    /// Rows of b that share a scale, at least 1.
    pub scale_rows: usize,
    /// Columns of b that share a scale, at least 1.
    pub scale_depth: usize,
    /// First element of the bias, `[n]`; null for none.
    pub bias: *const u8,
    /// Element type of the bias.
    pub bias_type: ElemType,
    /// Elements from one of the bias to the next.
    pub bias_stride: i64,
    /// First element of the output, `[m, n]`.
    pub out: *mut u8,
    /// Element type of the output.
    pub out_type: ElemType,
    /// Elements from one row of the output to the next.
    pub out_stride: i64,
    /// Rows of a and of the output.
    pub m: usize,
    /// Rows of b, columns of the output.
    pub n: usize,
    /// Columns of a and b, whole blocks of b.
    pub k: usize,
    /// How a is used.
    pub activations: Activations,
}

// SAFETY: the struct is plain data. Whoever calls `prepare` and `rows` vouches for the memory on every thread that calls them.
unsafe impl Send for QuantArgs {}
// SAFETY: as above.
unsafe impl Sync for QuantArgs {}

impl QuantArgs {
    fn a_row(&self, row: usize) -> *const u8 {
        self.a
            .wrapping_offset(row as isize * self.a_stride as isize * self.a_type.bytes() as isize)
    }

    /// A row of b in the plain layout; null past the last one.
    fn b_row(&self, row: usize) -> *const u8 {
        if row >= self.n {
            return core::ptr::null();
        }
        let stride = self.b_format.bytes_for_stride(self.b_stride);
        self.b.wrapping_offset(row as isize * stride)
    }

    /// A panel of the packed layout.
    fn panel(&self, lanes: usize, panel: usize) -> *const u8 {
        self.b
            .wrapping_add(panel * lanes * self.b_format.bytes_for(self.k))
    }
}

/// Up to this many rows of a call, rounded activations meet panels as they come from memory.
const FEW_INT8: usize = 4;
/// Panels that are worked on side by side.
const PANELS: usize = 2;
/// Rows of `a` in a block of the output: a chunk of them stays in the second-level cache for all columns of the block.
const ROWS: usize = 256;
/// Columns of a block, whole pairs of panels.
const COLUMNS: usize = 128;

/// Bytes that [`prepare`] fills for the call, aligned to 64.
pub fn prepared_bytes(set: Set, args: &QuantArgs) -> usize {
    with_set!(set, s => prepared_bytes_on(s, args))
}

/// [`prepared_bytes`] for one token.
pub(in crate::simd) fn prepared_bytes_on<S: Simd>(_s: S, args: &QuantArgs) -> usize {
    Rows::of::<S>(args).stride * args.m
}

/// Floats of scratch memory that one worker needs, for any ranges.
pub fn scratch_len(set: Set, args: &QuantArgs) -> usize {
    with_set!(set, s => scratch_len_on(s, args))
}

/// [`scratch_len`] for one token.
pub(in crate::simd) fn scratch_len_on<S: Simd>(s: S, args: &QuantArgs) -> usize {
    match args.activations {
        Activations::Exact => exact::scratch_len(s, args),
        Activations::Fixed => fixed::scratch_len(s, args),
        Activations::Int8 => int8::scratch_len(s, args),
    }
}

/// A good size of one item of parallel work for `threads` workers: (rows, columns). Columns are whole panels.
pub fn grain(set: Set, args: &QuantArgs, threads: usize) -> (usize, usize) {
    let wide = 4 * PANELS * set.lanes();
    // A few items for each worker even out their speeds; an item of many columns is one stretch of memory.
    let columns = args
        .n
        .div_ceil(threads.max(1) * 8)
        .next_multiple_of(wide)
        .clamp(wide, 1024);
    (args.m.clamp(1, ROWS), columns)
}

/// Prepares the rows `m` of a. Disjoint ranges may be prepared at once.
///
/// # Safety
/// `set` is available. The rows are readable and aligned to their element; `prepared` holds [`prepared_bytes`], aligned to 64.
pub unsafe fn prepare(set: Set, args: &QuantArgs, prepared: *mut u8, m: Range<usize>) {
    // SAFETY: the caller's contract, passed on.
    with_set!(set, s => unsafe { prepare_on(s, args, prepared, m) })
}

/// [`prepare`] for one token.
///
/// # Safety
/// As there.
pub(in crate::simd) unsafe fn prepare_on<S: Simd>(
    s: S,
    args: &QuantArgs,
    prepared: *mut u8,
    m: Range<usize>,
) {
    // SAFETY: the caller's contract, passed on.
    unsafe { activations::prepare(s, args, prepared, m) }
}

/// Computes the elements `out[m, n]`; `n` begins at a multiple of the lanes.
///
/// Threads: any. Disjoint ranges may run at once, each with its own `scratch` of [`scratch_len`] floats, whose contents do not
/// matter. Neither allocates nor blocks.
///
/// # Safety
/// `set` is available. The operands are as [`QuantArgs`] says and lie in memory that nothing writes meanwhile; `prepared` was filled for the rows
/// `m` by [`prepare`] with these arguments; the output's elements in both ranges are writable, aligned, and overlap nothing.
///
/// # Panics
/// If a range exceeds the product, or `scratch` is too short.
pub unsafe fn rows(
    set: Set,
    args: &QuantArgs,
    prepared: *const u8,
    m: Range<usize>,
    n: Range<usize>,
    scratch: &mut [f32],
) {
    // SAFETY: the caller's contract, passed on.
    with_set!(set, s => unsafe { rows_on(s, args, prepared, m, n, scratch) })
}

/// [`rows`] for one token.
///
/// # Safety
/// As there.
pub(in crate::simd) unsafe fn rows_on<S: Simd>(
    s: S,
    args: &QuantArgs,
    prepared: *const u8,
    m: Range<usize>,
    n: Range<usize>,
    scratch: &mut [f32],
) {
    assert!(
        m.end <= args.m && n.end <= args.n && n.start.is_multiple_of(S::LANES),
        "range {m:?}, {n:?} of a product of {} by {} in panels of {}",
        args.m,
        args.n,
        S::LANES
    );
    if m.is_empty() || n.is_empty() {
        return;
    }
    for first in m.clone().step_by(ROWS) {
        let m = first..m.end.min(first + ROWS);
        // SAFETY: the caller's contract, passed on.
        unsafe {
            match args.activations {
                Activations::Exact => exact::rows(s, args, prepared, m, n.clone(), scratch),
                Activations::Fixed => fixed::rows(s, args, prepared, m, n.clone(), scratch),
                Activations::Int8 => int8::rows(s, args, prepared, m, n.clone(), scratch),
            }
        }
    }
}

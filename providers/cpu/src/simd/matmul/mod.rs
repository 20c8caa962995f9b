//! `out[M,N] = a[M,K] · b[N,K]ᵀ + bias[N]`, accumulated in f32.
//!
//! Few rows of `a` are bound by reading `b`: each row of `b` is read once and decoded in registers (`few.rs`). Many rows are
//! bound by multiply-adds: both operands are packed as f32 in blocks that fit the caches (`many.rs`). Both add in the order
//! that `dot.rs` states, and finish in `finish.rs`, so their results are equal bit by bit.

mod few;
mod finish;
mod many;

use super::elem::ElemType;
use super::lanes::Simd;
use super::{Isa, with_isa};
use core::ops::Range;

/// One product. Row strides are in elements and may be of any sign and size; inside a row elements are adjacent.
#[derive(Clone, Copy, Debug)]
pub struct MatmulArgs {
    /// First element of a, `[m, k]`.
    pub a: *const u8,
    /// Element type of a.
    pub a_type: ElemType,
    /// From one row of a to the next.
    pub a_stride: i64,
    /// First element of b, `[n, k]`.
    pub b: *const u8,
    /// Element type of b.
    pub b_type: ElemType,
    /// From one row of b to the next.
    pub b_stride: i64,
    /// First element of the bias, `[n]`; null for none.
    pub bias: *const u8,
    /// Element type of the bias.
    pub bias_type: ElemType,
    /// From one element of the bias to the next.
    pub bias_stride: i64,
    /// First element of the output, `[m, n]`.
    pub out: *mut u8,
    /// Element type of the output.
    pub out_type: ElemType,
    /// From one row of the output to the next.
    pub out_stride: i64,
    /// Rows of a and of the output.
    pub m: usize,
    /// Rows of b, columns of the output.
    pub n: usize,
    /// Columns of a and b. With 0 the output is the bias.
    pub k: usize,
}

// SAFETY: the struct is plain data. Whoever calls `rows` vouches for the memory on every thread that calls it.
unsafe impl Send for MatmulArgs {}
// SAFETY: as above.
unsafe impl Sync for MatmulArgs {}

impl MatmulArgs {
    fn a_row(&self, row: usize) -> *const u8 {
        self.a
            .wrapping_offset(row as isize * self.a_stride as isize * self.a_type.bytes() as isize)
    }

    fn b_row(&self, row: usize) -> *const u8 {
        self.b
            .wrapping_offset(row as isize * self.b_stride as isize * self.b_type.bytes() as isize)
    }
}

/// Up to this many rows of `a` in one call of [`rows`], `b` is not packed: packing costs about as much as two rows' work.
const FEW: usize = 8;

/// Floats of scratch memory that a worker needs for any ranges of this product.
pub fn scratch_len(isa: Isa, args: &MatmulArgs) -> usize {
    with_isa!(isa, s => few::scratch_len(s, args.k).max(many::scratch_len(s, args.k)))
}

/// A good size of one item of parallel work, (rows, columns), for `threads` workers. Both are at least 1; columns are a
/// multiple of 8, so that workers that store neighbouring items rarely share a cache line.
pub fn grain(_isa: Isa, args: &MatmulArgs, threads: usize) -> (usize, usize) {
    let threads = threads.max(1);
    if args.m <= FEW {
        // Some items for each worker even out their speeds; below 32 rows of b an item is too short to be worth handing out.
        return (
            args.m.max(1),
            args.n
                .div_ceil(threads * 4)
                .next_multiple_of(8)
                .clamp(32, 1024),
        );
    }
    let columns = many::COLUMNS;
    if args.n.div_ceil(columns) >= threads * 8 {
        // All rows in one item: then each block of b is read from memory by one worker alone.
        return (args.m, columns);
    }
    let items = (threads * 8).div_ceil(args.n.div_ceil(columns).max(1));
    (
        args.m
            .div_ceil(items)
            .next_multiple_of(12)
            .min(args.m.max(1)),
        columns,
    )
}

/// Computes the elements `out[m, n]`.
///
/// Threads: any. Disjoint ranges may run at once, each with its own `scratch` of at least [`scratch_len`] floats, whose
/// contents do not matter. Neither allocates nor blocks.
///
/// # Safety
/// `isa` is available on this machine. The rows of `a` in `m`, the rows of `b` and elements of the bias in `n` are readable,
/// the elements of `out` in both writable, aligned to their element; nothing writes the inputs and nothing else touches the
/// outputs meanwhile, and they do not overlap.
///
/// # Panics
/// If a range exceeds the product, or `scratch` is too short.
pub unsafe fn rows(
    isa: Isa,
    args: &MatmulArgs,
    m: Range<usize>,
    n: Range<usize>,
    scratch: &mut [f32],
) {
    // SAFETY: the caller's contract, passed on.
    with_isa!(isa, s => unsafe { rows_on(s, args, m, n, scratch) })
}

/// [`rows`] for one token.
///
/// # Safety
/// As for [`rows`].
pub(super) unsafe fn rows_on<S: Simd>(
    s: S,
    args: &MatmulArgs,
    m: Range<usize>,
    n: Range<usize>,
    scratch: &mut [f32],
) {
    assert!(
        m.end <= args.m && n.end <= args.n,
        "range {m:?}, {n:?} of a product of {} by {}",
        args.m,
        args.n
    );
    if m.is_empty() || n.is_empty() {
        return;
    }
    // SAFETY: the caller's contract, passed on.
    unsafe {
        if m.len() <= FEW {
            few::rows(s, args, m, n, scratch);
        } else {
            many::rows(s, args, m, n, scratch);
        }
    }
}

/// [`scratch_len`] for one token.
#[cfg(test)]
pub(super) fn scratch_len_on<S: Simd>(s: S, args: &MatmulArgs) -> usize {
    few::scratch_len(s, args.k).max(many::scratch_len(s, args.k))
}

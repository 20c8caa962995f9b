//! `out[M,N] = a[M,K] · b[N,K]ᵀ + bias[N]`, accumulated in f32, by three codes with an order of sums each.
//!
//! # Few rows: lanes along *k*
//!
//! Few rows of `a` are bound by reading `b`, which is read as it lies and decoded in registers (`few.rs`). Sums are those of
//! `dot.rs`, one order for each instruction set.
//!
//! # More rows: lanes across columns
//!
//! More rows are bound by multiply-adds: both operands are laid out in blocks that fit the caches (`many.rs`), with columns
//! of the output (rows of `b`) across the lanes, so that no sum ever crosses lanes. *k* is cut into blocks of [`BLOCK`]; in a
//! block, products are added by fused multiply-adds in ascending *k*, from zero; the sums of blocks are added in ascending
//! order. The order is one for all instruction sets, whose results are equal bit by bit. The same with words that are pairs
//! of bf16, and an instruction that adds both products of a pair, is the third code.
//!
//! In each code an element's sum depends on its own row and column alone: not on how many rows there are, nor on the cut of
//! the work. Between the codes results differ in their last bits.

mod ahead;
mod avx2;
pub(super) mod avx512;
mod few;
mod finish;
mod lay_out;
mod many;
pub(super) mod panel;
mod tail;
#[cfg(test)]
pub(super) mod wide;

use super::elem::ElemType;
use super::lanes::Simd;
use super::{Isa, with_isa};
use core::ops::Range;
use panel::Panels;

/// Elements of *k* whose products are added in one chain.
const BLOCK: usize = 256;

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

    /// Whether there is anything in the ranges. Panics if they exceed the product.
    fn holds(&self, m: &Range<usize>, n: &Range<usize>) -> bool {
        assert!(
            m.end <= self.m && n.end <= self.n,
            "range {m:?}, {n:?} of a product of {} by {}",
            self.m,
            self.n
        );
        !m.is_empty() && !n.is_empty()
    }
}

/// What a product is computed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Multiply-adds in f32, lanes along *k*.
    Along(Isa),
    /// Multiply-adds in f32, lanes across columns.
    Across(Isa),
    /// Pairs of bf16 by AVX-512 BF16, lanes across columns; `a` and `b` are bf16.
    Pairs,
}

impl Code {
    /// Whether this CPU has the instructions and the operating system keeps their registers. Any thread; does not block.
    pub fn is_available(self) -> bool {
        match self {
            Code::Along(isa) | Code::Across(isa) => isa.is_available(),
            Code::Pairs => Isa::Avx512.is_available() && is_x86_feature_detected!("avx512bf16"),
        }
    }
}

/// An instruction set alone stands for the code that takes any number of rows and any types.
impl From<Isa> for Code {
    fn from(isa: Isa) -> Self {
        Code::Along(isa)
    }
}

/// Names the token of a code with lanes across columns; the caller argues that it is available. For [`Code::Along`] it is the
/// expression with the token of the instruction set.
macro_rules! with_code {
    ($code:expr, $s:ident => $along:expr, $p:ident => $across:expr) => {
        match $code {
            Code::Along(isa) => with_isa!(isa, $s => $along),
            Code::Across(isa) => with_isa!(isa, $p => $across),
            Code::Pairs => {
                // SAFETY: the caller of the entry that holds this macro has found the instructions on this machine.
                let $p = unsafe { avx512::Avx512Bf16::assume() };
                $across
            }
        }
    };
}

/// Floats of scratch memory that a worker needs for any ranges of this product.
pub fn scratch_len(code: impl Into<Code>, args: &MatmulArgs) -> usize {
    with_code!(code.into(), s => few::scratch_len(s, args.k), p => many::scratch_len(p, args))
}

/// A good size of one item of parallel work, (rows, columns), for `threads` workers. Both are at least 1; columns are a
/// multiple of 32, so that workers that store neighbouring items rarely share a cache line, and tiles are whole.
pub fn grain(code: impl Into<Code>, args: &MatmulArgs, threads: usize) -> (usize, usize) {
    let threads = threads.max(1);
    if matches!(code.into(), Code::Along(_)) || args.m <= many::FEW {
        // Some items for each worker even out their speeds; fewer columns are too short a work to be handed out.
        let columns = args.n.div_ceil(threads * 4).next_multiple_of(32);
        return (args.m.max(1), columns.clamp(32, 1024));
    }
    let columns = many::COLUMNS;
    let across = args.n.div_ceil(columns).max(1);
    if across >= threads * 4 {
        // All rows in one item: then each block of b is laid out once.
        return (args.m, columns);
    }
    let items = (threads * 4).div_ceil(across);
    let rows = args.m.div_ceil(items).next_multiple_of(42);
    (rows.min(args.m), columns)
}

/// Computes the elements `out[m, n]`.
///
/// Threads: any. Disjoint ranges may run at once, each with its own `scratch` of at least [`scratch_len`] floats, whose
/// contents do not matter. Neither allocates nor blocks.
///
/// # Safety
/// `code` is available on this machine. The rows of `a` in `m`, the rows of `b` and elements of the bias in `n` are readable,
/// the elements of `out` in both writable, aligned to their element; nothing writes the inputs and nothing else touches the
/// outputs meanwhile, and they do not overlap.
///
/// # Panics
/// If a range exceeds the product, `scratch` is too short, or the types are not those of `code`.
pub unsafe fn rows(
    code: impl Into<Code>,
    args: &MatmulArgs,
    m: Range<usize>,
    n: Range<usize>,
    scratch: &mut [f32],
) {
    with_code!(
        code.into(),
        // SAFETY: the caller's contract, passed on.
        s => unsafe { along(s, args, m, n, scratch) },
        // SAFETY: the same.
        p => unsafe { across(p, args, m, n, scratch) }
    )
}

/// [`rows`] with lanes along *k*.
///
/// # Safety
/// As for [`rows`].
pub(super) unsafe fn along<S: Simd>(
    s: S,
    args: &MatmulArgs,
    m: Range<usize>,
    n: Range<usize>,
    scratch: &mut [f32],
) {
    if args.holds(&m, &n) {
        // SAFETY: the caller's contract, passed on.
        unsafe { few::rows(s, args, m, n, scratch) }
    }
}

/// [`rows`] with lanes across columns.
///
/// # Safety
/// As for [`rows`].
pub(super) unsafe fn across<P: Panels>(
    p: P,
    args: &MatmulArgs,
    m: Range<usize>,
    n: Range<usize>,
    scratch: &mut [f32],
) {
    let types = (args.a_type, args.b_type);
    assert!(
        P::PER_WORD == 1 || types == (ElemType::Bf16, ElemType::Bf16),
        "a product of {types:?} by pairs of bf16"
    );
    if args.holds(&m, &n) {
        // SAFETY: the caller's contract, passed on.
        unsafe { many::rows(p, args, m, n, scratch) }
    }
}

/// [`scratch_len`] with lanes along *k*.
#[cfg(test)]
pub(super) fn scratch_along<S: Simd>(s: S, args: &MatmulArgs) -> usize {
    few::scratch_len(s, args.k)
}

/// [`scratch_len`] with lanes across columns.
#[cfg(test)]
pub(super) fn scratch_across<P: Panels>(p: P, args: &MatmulArgs) -> usize {
    many::scratch_len(p, args)
}

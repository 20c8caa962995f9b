//! What an instruction set offers to the algorithms: vectors of f32 lanes, and 16-bit lanes on the way from and to memory.

use super::quant::ints::Ints;

/// A piece of work written over any instruction set.
///
/// Implementations mark `run` with `#[inline(always)]`: [`Simd::run`] is the function that enables the instructions, and only
/// what is inlined into it is compiled with them.
pub trait Task {
    /// What it yields.
    type Out;
    /// Does the work.
    fn run<S: Simd>(self, s: S) -> Self::Out;
}

/// A token: a value exists only where the CPU has the instruction set and the operating system has enabled it, so that the
/// operations without pointers are safe to call.
///
/// Every method is to be inlined into a [`Task`]; elsewhere it works, slowly.
pub trait Simd: Copy + Ints<F = <Self as Simd>::V> {
    /// Lanes of f32.
    type V: Copy;
    /// As many lanes of 16 bits, as memory holds them.
    type H: Copy;
    /// The first *n* lanes, n from 0 to `LANES`.
    type Head: Copy;
    /// Lanes in a vector.
    const LANES: usize;
    /// Rows of the register tile (see `dot.rs`): `ROWS`·4 accumulators, `ROWS` operands and one more fill the registers.
    const ROWS: usize;

    /// Runs `task` compiled for this instruction set, in a function of its own.
    fn run<T: Task>(self, task: T) -> T::Out;

    /// All lanes `x`.
    fn splat(self, x: f32) -> Self::V;
    /// a + b
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// a − b
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// a · b
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// a / b
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// a · b + c, rounded once.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The greater; `b` where either is NaN. So `max(bound, x)` keeps a NaN in `x`.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// The lesser; `b` where either is NaN.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// The nearest integer, ties to even.
    fn round(self, a: Self::V) -> Self::V;
    /// v · 2ⁿ for integral n from −160 to 160, rounded once, overflowing to infinity.
    fn scale_by_power(self, v: Self::V, n: Self::V) -> Self::V;
    /// |a|
    fn abs(self, a: Self::V) -> Self::V;
    /// The magnitude of `a` (not negative) with the sign of `sign`.
    fn with_sign(self, a: Self::V, sign: Self::V) -> Self::V;
    /// `yes` where a < b, otherwise (NaN included) `no`.
    fn pick_less(self, a: Self::V, b: Self::V, yes: Self::V, no: Self::V) -> Self::V;
    /// Every two neighbouring lanes exchanged.
    fn swap_pairs(self, v: Self::V) -> Self::V;
    /// The lanes of even number of `a`, then those of `b`.
    fn evens(self, a: Self::V, b: Self::V) -> Self::V;
    /// The lanes of odd number of `a`, then those of `b`.
    fn odds(self, a: Self::V, b: Self::V) -> Self::V;
    /// The sums over the lanes of four vectors, all by one tree: halves are added until eight lanes are left, then
    /// ((0+1)+(2+3)) + ((4+5)+(6+7)).
    fn sum4(self, v: [Self::V; 4]) -> [f32; 4];
    /// The greatest lane; any lane where one is NaN.
    fn largest(self, v: Self::V) -> f32;

    /// The sum over the lanes, by the tree of [`Simd::sum4`].
    #[inline(always)]
    fn sum(self, v: Self::V) -> f32 {
        let zero = self.splat(0.0);
        self.sum4([v, zero, zero, zero])[0]
    }

    /// Decodes IEEE half precision, exactly.
    fn widen_f16(self, h: Self::H) -> Self::V;
    /// Decodes bfloat16, exactly.
    fn widen_bf16(self, h: Self::H) -> Self::V;
    /// Encodes to the nearest half, ties to even; NaN stays NaN.
    fn narrow_f16(self, v: Self::V) -> Self::H;
    /// Encodes to the nearest bfloat16, ties to even; NaN stays NaN.
    fn narrow_bf16(self, v: Self::V) -> Self::H;

    /// The first `n` lanes, n at most `LANES`.
    fn head(self, n: usize) -> Self::Head;

    /// Loads `LANES` floats.
    ///
    /// # Safety
    /// They are readable; no alignment is needed.
    unsafe fn load(self, p: *const f32) -> Self::V;
    /// Loads the first lanes and zeroes the rest; memory behind them is not touched.
    ///
    /// # Safety
    /// The head's floats are readable.
    unsafe fn load_head(self, p: *const f32, head: Self::Head) -> Self::V;
    /// Stores `LANES` floats.
    ///
    /// # Safety
    /// They are writable; no alignment is needed.
    unsafe fn store(self, p: *mut f32, v: Self::V);
    /// Stores the first lanes.
    ///
    /// # Safety
    /// The head's floats are writable.
    unsafe fn store_head(self, p: *mut f32, v: Self::V, head: Self::Head);
    /// Loads `LANES` 16-bit elements.
    ///
    /// # Safety
    /// They are readable, at any alignment.
    unsafe fn load16(self, p: *const u16) -> Self::H;
    /// Loads the first lanes and zeroes the rest.
    ///
    /// # Safety
    /// The head's elements are readable.
    unsafe fn load16_head(self, p: *const u16, head: Self::Head) -> Self::H;
    /// Stores `LANES` 16-bit elements.
    ///
    /// # Safety
    /// They are writable, at any alignment.
    unsafe fn store16(self, p: *mut u16, h: Self::H);
    /// Stores the first lanes.
    ///
    /// # Safety
    /// The head's elements are writable.
    unsafe fn store16_head(self, p: *mut u16, h: Self::H, head: Self::Head);
}

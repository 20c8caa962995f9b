//! What an instruction set offers to products: columns across the lanes.
//!
//! A vector holds one 32-bit word for each of `LANES` neighbouring columns of the output (rows of `b`). In the kernels that
//! multiply in f32 a word is one element of *k*, widened; in those that multiply pairs of bf16 it is two. A word of `a` is
//! spread over all lanes, so that nothing is ever added across lanes.

use super::super::lanes::Simd;

/// A piece of work written over any [`Panels`]. As for [`super::super::lanes::Task`], `run` is marked `#[inline(always)]`.
pub trait PanelTask {
    /// Does the work.
    fn run<P: Panels>(self, p: P);
}

/// A vector of words.
pub type Words<P> = <<P as Panels>::S as Simd>::V;

/// Vectors that [`Panels::columns`] makes at a time.
pub const STEPS: usize = 8;

/// A token, as [`Simd`]: a value exists only where its instructions may run.
pub trait Panels: Copy {
    /// The instruction set beneath, with as many lanes.
    type S: Simd;
    /// Elements of *k* in one word.
    const PER_WORD: usize;
    /// Greatest height of a register tile that is two vectors wide.
    const ROWS: usize;

    /// The token of the instruction set.
    fn simd(self) -> Self::S;

    /// Runs `task` compiled for these instructions, in a function of its own.
    fn run<T: PanelTask>(self, task: T);

    /// acc + a · b for each lane; for pairs, both products of a pair in one fixed order.
    fn multiply_add(self, a: Words<Self>, b: Words<Self>, acc: Words<Self>) -> Words<Self>;

    /// One word in all lanes.
    ///
    /// # Safety
    /// Four bytes are readable at `p`, at any alignment.
    unsafe fn spread(self, p: *const u32) -> Words<Self>;

    /// Turns a block of `b`: reads [`STEPS`] words of each of `LANES` rows, and returns them step by step, one row in each lane.
    ///
    /// # Safety
    /// At `b` and at every `stride` bytes after it, `LANES` times, `STEPS · PER_WORD` elements of `TY` are readable.
    unsafe fn columns<const TY: u8>(self, b: *const u8, stride: isize) -> [Words<Self>; STEPS];
}

/// Number of an element type as a constant parameter.
pub const F32: u8 = 0;
/// See [`F32`].
pub const F16: u8 = 1;
/// See [`F32`].
pub const BF16: u8 = 2;

/// Bytes of an element of the type numbered `ty`.
pub const fn bytes(ty: u8) -> usize {
    if ty == F32 { 4 } else { 2 }
}

/// Makes an element type a constant: `with_type!(ty, TY => body::<TY>())`.
macro_rules! with_type {
    ($ty:expr, $c:ident => $body:expr) => {
        match $ty {
            $crate::simd::ElemType::F32 => {
                const $c: u8 = $crate::simd::matmul::panel::F32;
                $body
            }
            $crate::simd::ElemType::F16 => {
                const $c: u8 = $crate::simd::matmul::panel::F16;
                $body
            }
            $crate::simd::ElemType::Bf16 => {
                const $c: u8 = $crate::simd::matmul::panel::BF16;
                $body
            }
        }
    };
}
pub(super) use with_type;

/// Makes a tile's height a constant: `with_rows!(P, height, R => expression)`. Heights above `P::ROWS` are not compiled.
macro_rules! with_rows {
    ($p:ty, $height:expr, $r:ident => $body:expr) => {
        with_rows!(@ $p, $height, $r => $body; 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
    };
    (@ $p:ty, $height:expr, $r:ident => $body:expr; $($n:literal)+) => {
        match $height {
            $($n if <$p>::ROWS >= $n => {
                const $r: usize = $n;
                $body
            })+
            height => unreachable!("no tile of {height} rows"),
        }
    };
}
pub(super) use with_rows;

/// The next tile's height for `left` rows: as even as the number of tiles allows.
pub fn height<P: Panels>(left: usize) -> usize {
    left.div_ceil(left.div_ceil(P::ROWS))
}

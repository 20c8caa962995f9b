//! The one inner loop of every product here: a tile of dot products along contiguous rows.
//!
//! Order of the reduction, which makes products batch-invariant: element *k* goes to lane *k* mod `LANES` of one accumulator,
//! by a fused multiply-add, in ascending *k*; the last, partial vector is filled with zeros; at the end the lanes are added by
//! the tree of [`Simd::sum4`]. The height and width of a tile, and cutting *k* into blocks at whole vectors with the
//! accumulators kept in between, change nothing in it.
//!
//! Lanes lie along the reduction, not along the outputs, since both operands are contiguous that way: nothing is transposed,
//! and one row and many rows share the order. A tile of 3×4 (6×4 with AVX-512) needs fewer loads than multiply-adds, so it
//! is the multiply-adds that bound it.

use super::elem::Elem;
use super::lanes::Simd;

/// Accumulators of a tile: `R` rows, `C` columns, one vector each.
pub type Tile<S, const R: usize, const C: usize> = [[<S as Simd>::V; C]; R];

/// A tile of zeros.
#[inline(always)]
pub fn zero<S: Simd, const R: usize, const C: usize>(s: S) -> Tile<S, R, C> {
    [[s.splat(0.0); C]; R]
}

/// Adds to `acc` the products of `R` rows of f32 with `C` rows of `B` over `k` elements.
///
/// # Safety
/// Each `b` has `k` readable elements; row *i* of `a` starts at `a + i·a_stride` and has `k` readable elements rounded up to
/// whole vectors, of which those past `k` are zero.
#[inline(always)]
pub unsafe fn dot<S: Simd, B: Elem, const R: usize, const C: usize>(
    s: S,
    a: *const f32,
    a_stride: usize,
    b: [*const B; C],
    k: usize,
    mut acc: Tile<S, R, C>,
) -> Tile<S, R, C> {
    let whole = k - k % S::LANES;
    let mut at = 0;
    while at < whole {
        // SAFETY: at + LANES is at most k.
        unsafe {
            let mut x = [s.splat(0.0); R];
            for i in 0..R {
                x[i] = s.load(a.add(i * a_stride + at));
            }
            for j in 0..C {
                let y = B::load(s, b[j].add(at));
                for i in 0..R {
                    acc[i][j] = s.fma(x[i], y, acc[i][j]);
                }
            }
        }
        at += S::LANES;
    }
    if at < k {
        let head = s.head(k - at);
        // SAFETY: `a` is padded to whole vectors; of `b` only the k − at elements of the head are read.
        unsafe {
            let mut x = [s.splat(0.0); R];
            for i in 0..R {
                x[i] = s.load(a.add(i * a_stride + at));
            }
            for j in 0..C {
                let y = B::load_head(s, b[j].add(at), head);
                for i in 0..R {
                    acc[i][j] = s.fma(x[i], y, acc[i][j]);
                }
            }
        }
    }
    acc
}

/// The height of the next tile for `left` rows: one of 6, 4, 3, 2, 1 within `S::ROWS`. A tile of one row is latency-bound, so
/// none is left over where two tiles can share the rest.
pub fn next_height<S: Simd>(left: usize) -> usize {
    match left {
        _ if left <= S::ROWS && left != 5 => left,
        4 => 2,
        5 => 3,
        7 if S::ROWS == 6 => 4,
        _ => S::ROWS,
    }
}

/// Makes a tile's height a constant: `with_height!(S, height, R => expression)`. Heights above `S::ROWS` are not compiled.
macro_rules! with_height {
    ($s:ty, $height:expr, $r:ident => $body:expr) => {
        match $height {
            1 => {
                const $r: usize = 1;
                $body
            }
            2 => {
                const $r: usize = 2;
                $body
            }
            3 => {
                const $r: usize = 3;
                $body
            }
            4 if <$s>::ROWS >= 4 => {
                const $r: usize = 4;
                $body
            }
            6 if <$s>::ROWS >= 6 => {
                const $r: usize = 6;
                $body
            }
            height => unreachable!("no tile of {height} rows"),
        }
    };
}
pub(super) use with_height;

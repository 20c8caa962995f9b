//! Root-mean-square normalisation.

use super::{Rows, RowsMut};
use crate::simd::convert::decode;
use crate::simd::elem::{Elem, with_elem};
use crate::simd::lanes::{Simd, Task};
use crate::simd::{Isa, with_isa};
use core::marker::PhantomData;
use core::ops::Range;

/// Rows of `width` divided by their root mean square, times the weight. `out` has the type of `x` and may be its memory.
#[derive(Clone, Copy, Debug)]
pub struct RmsNormArgs {
    pub x: Rows,
    /// `width` elements, its stride unused.
    pub weight: Rows,
    pub out: RowsMut,
    pub width: usize,
    pub eps: f64,
    /// Added to each weight.
    pub offset: f32,
}

impl RmsNormArgs {
    /// Floats of scratch memory that a call needs.
    pub fn scratch_len(&self) -> usize {
        factors_len(self.width)
    }
}

/// Normalises the rows of a range. Disjoint ranges may run at once, each with its own scratch memory.
///
/// # Safety
/// The machine has `isa`. Rows and weight are readable and rows of `out` writable, aligned to their elements; a row of `out` that
/// overlaps one of `x` is that very row.
///
/// # Panics
/// If `scratch` is shorter than [`RmsNormArgs::scratch_len`].
pub unsafe fn rms_norm(isa: Isa, args: &RmsNormArgs, rows: Range<usize>, scratch: &mut [f32]) {
    with_isa!(isa, s => rms_norm_on(s, args, rows, scratch));
}

pub(super) fn rms_norm_on<S: Simd>(
    s: S,
    args: &RmsNormArgs,
    rows: Range<usize>,
    scratch: &mut [f32],
) {
    // SAFETY: `rms_norm`'s contract makes the weight readable.
    let factors = unsafe { factors(s, args.weight, args.offset, args.width, scratch) };
    with_elem!(args.x.ty, X => s.run(Norm::<X> { args, rows, factors, elem: PhantomData }));
}

/// Floats that [`factors`] needs: whole vectors.
pub(super) fn factors_len(width: usize) -> usize {
    width.next_multiple_of(16)
}

/// Weights as floats, with the offset added, padded to whole vectors: decoded once for all rows of a range.
///
/// # Safety
/// `width` elements of the weight are readable.
pub(super) unsafe fn factors<S: Simd>(
    s: S,
    weight: Rows,
    offset: f32,
    width: usize,
    scratch: &mut [f32],
) -> &[f32] {
    let scratch = &mut scratch[..factors_len(width)];
    let padded = width.next_multiple_of(S::LANES);
    // SAFETY: the caller's weight; the scratch memory holds whole vectors of either width.
    unsafe {
        decode(s, weight.ty, weight.at, scratch.as_mut_ptr(), width, padded);
    }
    if offset != 0.0 {
        for factor in &mut scratch[..width] {
            *factor += offset;
        }
    }
    scratch
}

struct Norm<'a, X> {
    args: &'a RmsNormArgs,
    rows: Range<usize>,
    factors: &'a [f32],
    elem: PhantomData<X>,
}

impl<X: Elem> Task for Norm<'_, X> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let RmsNormArgs { width, eps, .. } = *self.args;
        for t in self.rows {
            let (x, out) = (self.args.x.row::<X>(t), self.args.out.row::<X>(t));
            // SAFETY: the row is readable and writable, and the factors reach its end in whole vectors.
            unsafe {
                let squares = squares(s, x, width);
                scale(
                    s,
                    x,
                    out,
                    width,
                    inverse_root(squares, width, eps),
                    self.factors,
                );
            }
        }
    }
}

/// The sum of the squares of a row: in four vectors by turns, which are added at the end.
///
/// # Safety
/// The row is readable.
#[inline(always)]
pub(super) unsafe fn squares<S: Simd, X: Elem>(s: S, x: *const X, width: usize) -> f32 {
    let mut acc = [s.splat(0.0); 4];
    let mut at = 0;
    while at + 4 * S::LANES <= width {
        for (i, acc) in acc.iter_mut().enumerate() {
            // SAFETY: four vectors from `at` on lie in the row.
            let v = unsafe { X::load(s, x.add(at + i * S::LANES)) };
            *acc = s.fma(v, v, *acc);
        }
        at += 4 * S::LANES;
    }
    while at < width {
        let n = (width - at).min(S::LANES);
        // SAFETY: the head's elements end with the row.
        let v = unsafe { X::load_head(s, x.add(at), s.head(n)) };
        acc[0] = s.fma(v, v, acc[0]);
        at += n;
    }
    s.sum(s.add(s.add(acc[0], acc[1]), s.add(acc[2], acc[3])))
}

/// What a row is multiplied by.
#[inline(always)]
pub(super) fn inverse_root(squares: f32, width: usize, eps: f64) -> f32 {
    (1.0 / (f64::from(squares) / width as f64 + eps).sqrt()) as f32
}

/// Writes a row times a number and the factors.
///
/// # Safety
/// The rows are readable and writable; the factors reach the row's end.
#[inline(always)]
pub(super) unsafe fn scale<S: Simd, X: Elem, O: Elem>(
    s: S,
    x: *const X,
    out: *mut O,
    width: usize,
    by: f32,
    factors: &[f32],
) {
    debug_assert!(factors.len() >= width.next_multiple_of(S::LANES));
    let by = s.splat(by);
    let factors = factors.as_ptr();
    let mut at = 0;
    while at + S::LANES <= width {
        // SAFETY: the vectors lie in the rows.
        unsafe {
            let v = s.mul(s.mul(X::load(s, x.add(at)), by), s.load(factors.add(at)));
            O::store(s, out.add(at), v);
        }
        at += S::LANES;
    }
    if at < width {
        let head = s.head(width - at);
        // SAFETY: the head's elements end with the rows; the factors are padded to whole vectors.
        unsafe {
            let v = s.mul(
                s.mul(X::load_head(s, x.add(at), head), by),
                s.load(factors.add(at)),
            );
            O::store_head(s, out.add(at), v, head);
        }
    }
}

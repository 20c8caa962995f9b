//! The residual's sum and its normalisation in one go.

use super::rms_norm::{factors, factors_len, inverse_root, scale};
use super::{Rows, RowsMut};
use crate::simd::elem::{Elem, with_elem};
use crate::simd::lanes::{Simd, Task};
use crate::simd::{Isa, with_isa};
use core::marker::PhantomData;
use core::ops::Range;

/// `residual += x`, rounded to its type; `out`, of the type of `x`, is the rounded residual normalised.
#[derive(Clone, Copy, Debug)]
pub struct AddRmsNormArgs {
    pub x: Rows,
    pub residual: RowsMut,
    /// `width` elements, its stride unused.
    pub weight: Rows,
    pub out: RowsMut,
    pub width: usize,
    pub eps: f64,
    /// Added to each weight.
    pub offset: f32,
}

impl AddRmsNormArgs {
    /// Floats of scratch memory that a call needs.
    pub fn scratch_len(&self) -> usize {
        factors_len(self.width)
    }
}

/// Adds and normalises the rows of a range. Disjoint ranges may run at once, each with its own scratch memory.
///
/// # Safety
/// The machine has `isa`. Rows and weight are readable, rows of `residual` and `out` writable, all aligned to their elements and
/// without overlap.
///
/// # Panics
/// If `scratch` is shorter than [`AddRmsNormArgs::scratch_len`].
pub unsafe fn add_rms_norm(
    isa: Isa,
    args: &AddRmsNormArgs,
    rows: Range<usize>,
    scratch: &mut [f32],
) {
    with_isa!(isa, s => add_rms_norm_on(s, args, rows, scratch));
}

pub(super) fn add_rms_norm_on<S: Simd>(
    s: S,
    args: &AddRmsNormArgs,
    rows: Range<usize>,
    scratch: &mut [f32],
) {
    // SAFETY: `add_rms_norm`'s contract makes the weight readable.
    let factors = unsafe { factors(s, args.weight, args.offset, args.width, scratch) };
    with_elem!(args.x.ty, X => with_elem!(args.residual.ty, R => s.run(AddNorm::<X, R> {
        args,
        rows,
        factors,
        elems: PhantomData,
    })));
}

struct AddNorm<'a, X, R> {
    args: &'a AddRmsNormArgs,
    rows: Range<usize>,
    factors: &'a [f32],
    elems: PhantomData<(X, R)>,
}

impl<X: Elem, R: Elem> Task for AddNorm<'_, X, R> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let AddRmsNormArgs { width, eps, .. } = *self.args;
        for t in self.rows {
            let x = self.args.x.row::<X>(t);
            let residual = self.args.residual.row::<R>(t);
            let out = self.args.out.row::<X>(t);
            // SAFETY: the rows are the call's own, and the factors reach their end in whole vectors.
            unsafe {
                let squares = add_and_square(s, x, residual, width);
                let by = inverse_root(squares, width, eps);
                scale(s, residual.cast_const(), out, width, by, self.factors);
            }
        }
    }
}

/// Adds a row to the residual and yields the sum of the squares of what that holds then, in the order of
/// [`super::rms_norm::squares`].
///
/// # Safety
/// The rows are readable, the residual writable.
#[inline(always)]
unsafe fn add_and_square<S: Simd, X: Elem, R: Elem>(
    s: S,
    x: *const X,
    residual: *mut R,
    width: usize,
) -> f32 {
    let mut acc = [s.splat(0.0); 4];
    let mut at = 0;
    while at + 4 * S::LANES <= width {
        for (i, acc) in acc.iter_mut().enumerate() {
            // SAFETY: four vectors from `at` on lie in the rows.
            let v = unsafe {
                let place = residual.add(at + i * S::LANES);
                let sum = s.add(X::load(s, x.add(at + i * S::LANES)), R::load(s, place));
                R::store(s, place, sum);
                R::rounded(s, sum)
            };
            *acc = s.fma(v, v, *acc);
        }
        at += 4 * S::LANES;
    }
    while at < width {
        let n = (width - at).min(S::LANES);
        let head = s.head(n);
        // SAFETY: the head's elements end with the rows.
        let v = unsafe {
            let place = residual.add(at);
            let sum = s.add(
                X::load_head(s, x.add(at), head),
                R::load_head(s, place, head),
            );
            R::store_head(s, place, sum, head);
            R::rounded(s, sum)
        };
        acc[0] = s.fma(v, v, acc[0]);
        at += n;
    }
    s.sum(s.add(s.add(acc[0], acc[1]), s.add(acc[2], acc[3])))
}

//! Exponentials as shares of their sum.

use super::exp::exp_below;
use super::{Rows, RowsMut};
use crate::simd::elem::{Elem, with_elem};
use crate::simd::lanes::{Simd, Task};

use crate::simd::{Isa, with_isa};
use core::marker::PhantomData;
use core::ops::Range;

/// Rows of `width`, each scaled before.
#[derive(Clone, Copy, Debug)]
pub struct SoftmaxArgs {
    pub x: Rows,
    pub out: RowsMut,
    pub width: usize,
    pub scale: f32,
}

impl SoftmaxArgs {
    /// Floats of scratch memory that a call needs.
    pub fn scratch_len(&self) -> usize {
        self.width.next_multiple_of(16)
    }
}

/// Elements whose exponentials are summed in f32; the sums of blocks are summed in f64. A multiple of four vectors.
const BLOCK: usize = 1024;

/// Computes the rows of a range. Disjoint ranges may run at once, each with its own scratch memory.
///
/// # Safety
/// The machine has `isa`. Rows of `x` are readable and rows of `out` writable, aligned to their elements, without overlap.
///
/// # Panics
/// If `scratch` is shorter than [`SoftmaxArgs::scratch_len`].
pub unsafe fn softmax(isa: Isa, args: &SoftmaxArgs, rows: Range<usize>, scratch: &mut [f32]) {
    with_isa!(isa, s => softmax_on(s, args, rows, scratch));
}

pub(super) fn softmax_on<S: Simd>(
    s: S,
    args: &SoftmaxArgs,
    rows: Range<usize>,
    scratch: &mut [f32],
) {
    assert!(args.scratch_len() <= scratch.len());
    let scratch = scratch.as_mut_ptr();
    with_elem!(args.x.ty, X => with_elem!(args.out.ty, O => s.run(Softmax::<X, O> {
        args,
        rows,
        scratch,
        elems: PhantomData,
    })));
}

struct Softmax<'a, X, O> {
    args: &'a SoftmaxArgs,
    rows: Range<usize>,
    /// A row of floats in whole vectors.
    scratch: *mut f32,
    elems: PhantomData<(X, O)>,
}

impl<X: Elem, O: Elem> Task for Softmax<'_, X, O> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let SoftmaxArgs { width, scale, .. } = *self.args;
        for t in self.rows {
            let (x, out) = (self.args.x.row::<X>(t), self.args.out.row::<O>(t));
            // SAFETY: the rows are the caller's, and the scratch memory holds one in whole vectors.
            unsafe {
                let greatest = scaled(s, x, self.scratch, width, scale);
                let sum = exponentials(s, self.scratch, width, greatest);
                // The sum of a row of −∞ alone is 0, and so are all its shares.
                let share = if sum == 0.0 { 0.0 } else { (1.0 / sum) as f32 };
                shares(s, self.scratch, out, width, share);
            }
        }
    }
}

/// Decodes and scales a row, −∞ behind its end, and yields its greatest number.
///
/// # Safety
/// The row is readable, and `to` writable in whole vectors.
#[inline(always)]
unsafe fn scaled<S: Simd, X: Elem>(
    s: S,
    x: *const X,
    to: *mut f32,
    width: usize,
    scale: f32,
) -> f32 {
    let scale = s.splat(scale);
    let mut acc = [s.splat(f32::NEG_INFINITY); 4];
    let mut at = 0;
    while at + 4 * S::LANES <= width {
        for (i, acc) in acc.iter_mut().enumerate() {
            // SAFETY: four vectors from `at` on lie in the row.
            unsafe {
                let v = s.mul(X::load(s, x.add(at + i * S::LANES)), scale);
                s.store(to.add(at + i * S::LANES), v);
                *acc = s.max(v, *acc);
            }
        }
        at += 4 * S::LANES;
    }
    while at < width {
        let n = (width - at).min(S::LANES);
        // SAFETY: the head's elements end with the row; the scratch memory has room for a whole vector.
        unsafe {
            let v = s.mul(X::load_head(s, x.add(at), s.head(n)), scale);
            s.store(to.add(at), s.splat(f32::NEG_INFINITY));
            s.store_head(to.add(at), v, s.head(n));
            acc[0] = s.max(s.load(to.add(at)), acc[0]);
        }
        at += n;
    }
    s.largest(s.max(s.max(acc[0], acc[1]), s.max(acc[2], acc[3])))
}

/// Replaces a scaled row by exp(element − greatest) and yields the sum, in blocks.
///
/// # Safety
/// `row` is readable and writable in whole vectors.
#[inline(always)]
unsafe fn exponentials<S: Simd>(s: S, row: *mut f32, width: usize, greatest: f32) -> f64 {
    // With −∞ for all there is nothing to subtract.
    let base = s.splat(if greatest == f32::NEG_INFINITY {
        0.0
    } else {
        greatest
    });
    let mut total = 0.0_f64;
    for start in (0..width).step_by(BLOCK) {
        let end = width.min(start + BLOCK);
        let mut acc = [s.splat(0.0); 4];
        let mut at = start;
        while at < end {
            for acc in &mut acc {
                if at < end {
                    // SAFETY: the vector begins inside the row.
                    let e = unsafe {
                        let e = exp_below(s, s.sub(s.load(row.add(at)), base));
                        s.store(row.add(at), e);
                        e
                    };
                    *acc = s.add(*acc, e);
                    at += S::LANES;
                }
            }
        }
        total += f64::from(s.sum(s.add(s.add(acc[0], acc[1]), s.add(acc[2], acc[3]))));
    }
    total
}

/// Writes a row of floats times a number.
///
/// # Safety
/// `row` is readable in whole vectors, the output row writable.
#[inline(always)]
unsafe fn shares<S: Simd, O: Elem>(s: S, row: *const f32, out: *mut O, width: usize, by: f32) {
    let by = s.splat(by);
    let mut at = 0;
    while at + S::LANES <= width {
        // SAFETY: the vector lies in the row.
        unsafe { O::store(s, out.add(at), s.mul(s.load(row.add(at)), by)) };
        at += S::LANES;
    }
    if at < width {
        // SAFETY: the scratch row is padded; the head's elements end with the output row.
        unsafe {
            let v = s.mul(s.load(row.add(at)), by);
            O::store_head(s, out.add(at), v, s.head(width - at));
        }
    }
}

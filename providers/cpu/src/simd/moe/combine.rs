//! Weighted sums over slots.

use crate::simd::elem::{Elem, with_elem};
use crate::simd::lanes::{Simd, Task};
use crate::simd::{ElemType, Isa, with_isa};
use core::marker::PhantomData;
use core::ops::Range;

/// `out[t,:] = shared[t,:] + sum over s of weights[t,s] · x[t,s,:]`. Strides are in elements and of any sign and size; inside a row
/// elements are adjacent.
#[derive(Clone, Copy, Debug)]
pub struct CombineArgs {
    /// First element of x, `[tokens, slots, width]`.
    pub x: *const u8,
    /// Element type of x.
    pub x_type: ElemType,
    /// From one token of x to the next, and from one slot.
    pub x_strides: [i64; 2],
    /// First weight, `[tokens, slots]`.
    pub weights: *const f32,
    /// From one token's weights to the next, and from one to its neighbour.
    pub weight_strides: [i64; 2],
    /// First element of what is added, `[tokens, width]`; null for none.
    pub shared: *const u8,
    /// Element type of it.
    pub shared_type: ElemType,
    /// From one token of it to the next.
    pub shared_stride: i64,
    /// First element of the output, `[tokens, width]`.
    pub out: *mut u8,
    /// Element type of the output.
    pub out_type: ElemType,
    /// From one token of the output to the next.
    pub out_stride: i64,
    /// Terms of a sum.
    pub slots: usize,
    /// Elements of a row.
    pub width: usize,
}

// SAFETY: the struct is plain data. Whoever calls `combine` vouches for the memory on every thread that calls it.
unsafe impl Send for CombineArgs {}
// SAFETY: as above.
unsafe impl Sync for CombineArgs {}

/// Computes the rows of these tokens. Disjoint ranges may run at once. Neither allocates nor blocks.
///
/// # Safety
/// The machine has `isa`. The tokens' rows are readable and those of the output writable, aligned to their elements; the output
/// overlaps no input.
pub unsafe fn combine(isa: Isa, args: &CombineArgs, tokens: Range<usize>) {
    with_isa!(isa, s => combine_on(s, args, tokens));
}

pub(super) fn combine_on<S: Simd>(s: S, args: &CombineArgs, tokens: Range<usize>) {
    with_elem!(args.x_type, X => with_elem!(args.shared_type, A => with_elem!(args.out_type, O => {
        s.run(Combine::<X, A, O> { args, tokens, elems: PhantomData });
    })));
}

struct Combine<'a, X, A, O> {
    args: &'a CombineArgs,
    tokens: Range<usize>,
    elems: PhantomData<(X, A, O)>,
}

/// Vectors of the output that are summed side by side: each weight is loaded once for them.
const VECTORS: usize = 4;

impl<X: Elem, A: Elem, O: Elem> Task for Combine<'_, X, A, O> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let args = self.args;
        for t in self.tokens {
            let row = Row::<X, A> {
                x: at(args.x.cast(), t as i64 * args.x_strides[0]),
                slot_stride: args.x_strides[1],
                weights: at(args.weights, t as i64 * args.weight_strides[0]),
                weight_stride: args.weight_strides[1],
                shared: if args.shared.is_null() {
                    core::ptr::null()
                } else {
                    at(args.shared.cast(), t as i64 * args.shared_stride)
                },
                slots: args.slots,
            };
            let out = at(
                args.out.cast_const().cast::<O>(),
                t as i64 * args.out_stride,
            )
            .cast_mut();
            let mut d = 0;
            while d + VECTORS * S::LANES <= args.width {
                // SAFETY: whole vectors from `d` on lie in every row of the token.
                unsafe {
                    let sums = row.sums(s, d);
                    for (i, sum) in sums.into_iter().enumerate() {
                        O::store(s, out.add(d + i * S::LANES), sum);
                    }
                }
                d += VECTORS * S::LANES;
            }
            while d < args.width {
                let n = (args.width - d).min(S::LANES);
                // SAFETY: the head's elements end with the rows.
                unsafe {
                    let sum = row.head(s, d, s.head(n));
                    O::store_head(s, out.add(d), sum, s.head(n));
                }
                d += n;
            }
        }
    }
}

/// An element so many elements away.
#[inline(always)]
fn at<E>(first: *const E, elements: i64) -> *const E {
    first.wrapping_offset(elements as isize)
}

/// What goes into one row. Each element is summed in one order, what is added first and slots ascending, whatever vector it is in.
struct Row<X, A> {
    x: *const X,
    slot_stride: i64,
    weights: *const f32,
    weight_stride: i64,
    shared: *const A,
    slots: usize,
}

impl<X: Elem, A: Elem> Row<X, A> {
    #[inline(always)]
    fn slot(&self, slot: usize) -> (*const X, *const f32) {
        (
            at(self.x, slot as i64 * self.slot_stride),
            at(self.weights, slot as i64 * self.weight_stride),
        )
    }

    /// # Safety
    /// [`VECTORS`] vectors from `d` on are readable in each row.
    #[inline(always)]
    unsafe fn sums<S: Simd>(&self, s: S, d: usize) -> [S::V; VECTORS] {
        let mut sums = [s.splat(0.0); VECTORS];
        if !self.shared.is_null() {
            for (i, sum) in sums.iter_mut().enumerate() {
                // SAFETY: by the contract.
                *sum = unsafe { A::load(s, self.shared.add(d + i * S::LANES)) };
            }
        }
        for slot in 0..self.slots {
            let (x, weight) = self.slot(slot);
            // SAFETY: by the contract; each slot has a weight.
            unsafe {
                let weight = s.splat(weight.read());
                for (i, sum) in sums.iter_mut().enumerate() {
                    *sum = s.fma(weight, X::load(s, x.add(d + i * S::LANES)), *sum);
                }
            }
        }
        sums
    }

    /// # Safety
    /// The head's elements from `d` on are readable in each row.
    #[inline(always)]
    unsafe fn head<S: Simd>(&self, s: S, d: usize, head: S::Head) -> S::V {
        let mut sum = s.splat(0.0);
        if !self.shared.is_null() {
            // SAFETY: by the contract.
            sum = unsafe { A::load_head(s, self.shared.add(d), head) };
        }
        for slot in 0..self.slots {
            let (x, weight) = self.slot(slot);
            // SAFETY: by the contract; each slot has a weight.
            unsafe {
                let x = X::load_head(s, x.add(d), head);
                sum = s.fma(s.splat(weight.read()), x, sum);
            }
        }
        sum
    }
}

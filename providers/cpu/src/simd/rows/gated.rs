//! Activations of one half of a row, times the other half.

use super::exp::exp_below;
use super::normal::cumulative;
use super::{Rows, RowsMut};
use crate::simd::elem::{Elem, with_elem};
use crate::simd::lanes::{Simd, Task};

use crate::simd::{Isa, with_isa};
use core::marker::PhantomData;
use core::ops::Range;

/// What becomes of gate and up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// `gate · sigmoid(gate) · up`
    Silu,
    /// `gelu(gate) · up` in the form with a hyperbolic tangent.
    GeluTanh,
    /// `gate · Φ(gate) · up`
    GeluErf,
    /// `(up' + 1) · gate' · sigmoid(alpha · gate')`, both clamped, the gate from above alone.
    Clamped { limit: f32, alpha: f32 },
}

/// Rows of `2 · width` in, of `width` out, of one type.
#[derive(Clone, Copy, Debug)]
pub struct GatedArgs {
    pub x: Rows,
    pub out: RowsMut,
    /// Width of an output row.
    pub width: usize,
    pub activation: Activation,
    /// Gate and up alternate, gate first; otherwise all gates stand in front.
    pub interleaved: bool,
}

/// Computes the rows of a range. Disjoint ranges may run at once.
///
/// # Safety
/// The machine has `isa`. Rows of `x` are readable and rows of `out` writable, aligned to their elements, without overlap.
pub unsafe fn gated(isa: Isa, args: &GatedArgs, rows: Range<usize>) {
    with_isa!(isa, s => gated_on(s, args, rows));
}

pub(super) fn gated_on<S: Simd>(s: S, args: &GatedArgs, rows: Range<usize>) {
    with_elem!(args.x.ty, X => match args.activation {
        Activation::Silu => s.run(Gated::<X, _> { args, rows, by: Silu, elem: PhantomData }),
        Activation::GeluTanh => s.run(Gated::<X, _> { args, rows, by: GeluTanh, elem: PhantomData }),
        Activation::GeluErf => s.run(Gated::<X, _> { args, rows, by: GeluErf, elem: PhantomData }),
        Activation::Clamped { limit, alpha } => {
            s.run(Gated::<X, _> { args, rows, by: Clamped { limit, alpha }, elem: PhantomData });
        }
    });
}

/// One of the activations, compiled into the loop.
trait Gate: Copy {
    fn apply<S: Simd>(self, s: S, gate: S::V, up: S::V) -> S::V;
}

#[derive(Clone, Copy)]
struct Silu;
#[derive(Clone, Copy)]
struct GeluTanh;
#[derive(Clone, Copy)]
struct GeluErf;
#[derive(Clone, Copy)]
struct Clamped {
    limit: f32,
    alpha: f32,
}

impl Gate for Silu {
    #[inline(always)]
    fn apply<S: Simd>(self, s: S, gate: S::V, up: S::V) -> S::V {
        times_sigmoid(s, gate, gate, up)
    }
}

impl Gate for GeluTanh {
    #[inline(always)]
    fn apply<S: Simd>(self, s: S, gate: S::V, up: S::V) -> S::V {
        // 2·√(2/π), and 0.044715 times that. (1 + tanh y) / 2 is the sigmoid of 2y, and does not cancel.
        const LINEAR: f32 = 1.595_769;
        const CUBIC: f32 = 0.071_354_816;
        let square = s.mul(gate, gate);
        let inner = s.mul(gate, s.fma(square, s.splat(CUBIC), s.splat(LINEAR)));
        times_sigmoid(s, gate, inner, up)
    }
}

impl Gate for GeluErf {
    #[inline(always)]
    fn apply<S: Simd>(self, s: S, gate: S::V, up: S::V) -> S::V {
        cumulative(s, gate, s.mul(gate, up))
    }
}

impl Gate for Clamped {
    #[inline(always)]
    fn apply<S: Simd>(self, s: S, gate: S::V, up: S::V) -> S::V {
        let (limit, least) = (s.splat(self.limit), s.splat(-self.limit));
        // The bound comes first, so that a NaN stays.
        let gate = s.min(limit, gate);
        let up = s.max(least, s.min(limit, up));
        let inner = s.mul(gate, s.splat(self.alpha));
        times_sigmoid(s, gate, inner, s.add(up, s.splat(1.0)))
    }
}

/// `a · sigmoid(y) · b`.
///
/// With h = exp(-|y|/2), which underflows only where the result does: `a·b / (1 + h²)` for y of at least 0, otherwise
/// `(a·h)·(b·h) / (1 + h²)`.
#[inline(always)]
fn times_sigmoid<S: Simd>(s: S, a: S::V, y: S::V, b: S::V) -> S::V {
    let one = s.splat(1.0);
    let h = exp_below(s, s.mul(s.abs(y), s.splat(-0.5)));
    let factor = s.pick_less(y, s.splat(0.0), h, one);
    let above = s.mul(s.mul(a, factor), s.mul(b, factor));
    s.div(above, s.fma(h, h, one))
}

struct Gated<'a, X, G> {
    args: &'a GatedArgs,
    rows: Range<usize>,
    by: G,
    elem: PhantomData<X>,
}

impl<X: Elem, G: Gate> Task for Gated<'_, X, G> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for t in self.rows {
            let (x, out) = (self.args.x.row::<X>(t), self.args.out.row::<X>(t));
            // SAFETY: the rows are readable and writable, by the contract of `gated`.
            unsafe {
                if self.args.interleaved {
                    mixed(s, x, out, self.args.width, self.by);
                } else {
                    halves(s, x, out, self.args.width, self.by);
                }
            }
        }
    }
}

/// # Safety
/// `2 · width` elements are readable at `x`, `width` writable at `out`.
#[inline(always)]
unsafe fn halves<S: Simd, X: Elem, G: Gate>(s: S, x: *const X, out: *mut X, width: usize, by: G) {
    let mut at = 0;
    while at + S::LANES <= width {
        // SAFETY: the vectors lie in the two halves and in the output row.
        unsafe {
            let (gate, up) = (X::load(s, x.add(at)), X::load(s, x.add(width + at)));
            X::store(s, out.add(at), by.apply(s, gate, up));
        }
        at += S::LANES;
    }
    if at < width {
        let head = s.head(width - at);
        // SAFETY: the head's elements end with each half and with the row.
        unsafe {
            let gate = X::load_head(s, x.add(at), head);
            let up = X::load_head(s, x.add(width + at), head);
            X::store_head(s, out.add(at), by.apply(s, gate, up), head);
        }
    }
}

/// # Safety
/// As for [`halves`].
#[inline(always)]
unsafe fn mixed<S: Simd, X: Elem, G: Gate>(s: S, x: *const X, out: *mut X, width: usize, by: G) {
    let mut at = 0;
    while at + S::LANES <= width {
        // SAFETY: the pairs of one output vector fill two vectors, which lie in the row as that does.
        unsafe {
            let source = x.add(2 * at);
            let (a, b) = (X::load(s, source), X::load(s, source.add(S::LANES)));
            X::store(s, out.add(at), by.apply(s, s.evens(a, b), s.odds(a, b)));
        }
        at += S::LANES;
    }
    if at < width {
        let n = width - at;
        // Of the two vectors of pairs the second may not be there at all.
        let (first, second) = ((2 * n).min(S::LANES), (2 * n).saturating_sub(S::LANES));
        // SAFETY: the heads' elements are the 2n that end the row, and the n that end the output row.
        unsafe {
            let source = x.add(2 * at);
            let a = X::load_head(s, source, s.head(first));
            let b = X::load_head(s, source.add(first), s.head(second));
            let result = by.apply(s, s.evens(a, b), s.odds(a, b));
            X::store_head(s, out.add(at), result, s.head(n));
        }
    }
}

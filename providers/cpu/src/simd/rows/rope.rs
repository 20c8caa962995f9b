//! Rotary position embedding.

use super::turn::turns;
use super::{Rows, RowsMut};
use crate::simd::elem::{Elem, with_elem};
use crate::simd::lanes::{Simd, Task};
use crate::simd::scratch::{Cutter, len_for};
use crate::simd::{Isa, with_isa};
use core::marker::PhantomData;
use core::ops::Range;

/// Heads of `width` elements whose first `2 · pairs` are turned. `out` has the type of `x` and may be its memory.
#[derive(Clone, Copy, Debug)]
pub struct RopeArgs {
    pub x: Rows,
    pub out: RowsMut,
    /// Elements from head to head of `x` and of `out`.
    pub head_strides: [i64; 2],
    pub heads: usize,
    pub width: usize,
    /// Positions of the rows.
    pub positions: *const i32,
    pub positions_stride: i64,
    /// `pairs` frequencies.
    pub frequencies: *const f32,
    pub frequencies_stride: i64,
    pub pairs: usize,
    /// A pair is elements 2i and 2i + 1; otherwise i and `pairs` + i.
    pub interleaved: bool,
    /// What cosine and sine are multiplied by.
    pub amplitude: f64,
}

// SAFETY: addresses; whoever makes them vouches for the memory, and a body writes the rows of its own range alone.
unsafe impl Send for RopeArgs {}
// SAFETY: as above.
unsafe impl Sync for RopeArgs {}

impl RopeArgs {
    /// Floats of scratch memory that a call needs.
    pub fn scratch_len(&self) -> usize {
        len_for(&self.parts())
    }

    /// Frequencies, cosines and sines; for interleaved pairs both stand twice.
    fn parts(&self) -> [usize; 3] {
        let turns = 2 * self.pairs + 16;
        [self.pairs, turns, turns]
    }
}

/// Turns the rows of a range. Disjoint ranges may run at once, each with its own scratch memory.
///
/// # Safety
/// The machine has `isa`. Rows, positions and frequencies are readable, rows of `out` writable, aligned to their elements; a row of
/// `out` that overlaps one of `x` is that very row. `2 · pairs` is at most `width`.
///
/// # Panics
/// If `scratch` is shorter than [`RopeArgs::scratch_len`].
pub unsafe fn rope(isa: Isa, args: &RopeArgs, rows: Range<usize>, scratch: &mut [f32]) {
    with_isa!(isa, s => rope_on(s, args, rows, scratch));
}

pub(super) fn rope_on<S: Simd>(s: S, args: &RopeArgs, rows: Range<usize>, scratch: &mut [f32]) {
    let mut cutter = Cutter::new(scratch);
    let [frequencies, cos, sin] = args.parts().map(|n| cutter.cut(n));
    for (i, frequency) in frequencies.iter_mut().enumerate() {
        // SAFETY: the frequency is readable, by the contract of `rope`.
        *frequency = unsafe {
            let at = i as isize * args.frequencies_stride as isize;
            args.frequencies.offset(at).read()
        };
    }
    with_elem!(args.x.ty, X => s.run(Rope::<X> {
        args,
        rows,
        frequencies,
        cos,
        sin,
        elem: PhantomData,
    }));
}

struct Rope<'a, X> {
    args: &'a RopeArgs,
    rows: Range<usize>,
    frequencies: &'a [f32],
    cos: &'a mut [f32],
    sin: &'a mut [f32],
    elem: PhantomData<X>,
}

impl<X: Elem> Task for Rope<'_, X> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let args = self.args;
        let turned = 2 * args.pairs;
        for t in self.rows {
            // SAFETY: the position is readable, by the contract of `rope`.
            let position = unsafe {
                let at = t as isize * args.positions_stride as isize;
                args.positions.offset(at).read()
            };
            turns(
                position,
                self.frequencies,
                args.amplitude,
                self.cos,
                self.sin,
            );
            if args.interleaved {
                spread(self.cos, self.sin, args.pairs);
            }
            let (x, out) = (args.x.row::<X>(t), args.out.row::<X>(t));
            for h in 0..args.heads as isize {
                let x = x.wrapping_offset(h * args.head_strides[0] as isize);
                let out = out.wrapping_offset(h * args.head_strides[1] as isize);
                // SAFETY: the heads are the caller's; there are cosines and sines for all pairs, in whole vectors.
                unsafe {
                    if args.interleaved {
                        mixed(s, x, out, turned, self.cos, self.sin);
                    } else {
                        halves(s, x, out, args.pairs, self.cos, self.sin);
                    }
                    if turned < args.width && !core::ptr::eq(x, out) {
                        core::ptr::copy(x.add(turned), out.add(turned), args.width - turned);
                    }
                }
            }
        }
    }
}

/// Puts each cosine twice, and each sine first with the sign that the pair's first element takes it with.
#[inline(always)]
fn spread(cos: &mut [f32], sin: &mut [f32], pairs: usize) {
    // From the end, since the twice as many overwrite the single ones.
    for i in (0..pairs).rev() {
        (cos[2 * i], cos[2 * i + 1]) = (cos[i], cos[i]);
        (sin[2 * i], sin[2 * i + 1]) = (-sin[i], sin[i]);
    }
}

/// # Safety
/// `2 · pairs` elements are readable at `x` and writable at `out`; cosines and sines reach as far in whole vectors.
#[inline(always)]
unsafe fn halves<S: Simd, X: Elem>(
    s: S,
    x: *const X,
    out: *mut X,
    pairs: usize,
    cos: &[f32],
    sin: &[f32],
) {
    let (cos, sin) = (cos.as_ptr(), sin.as_ptr());
    let mut at = 0;
    while at + S::LANES <= pairs {
        // SAFETY: the vectors lie in the two halves. Both are loaded before either is stored.
        unsafe {
            let (a, b) = (X::load(s, x.add(at)), X::load(s, x.add(pairs + at)));
            let (cos, sin) = (s.load(cos.add(at)), s.load(sin.add(at)));
            let first = s.sub(s.mul(a, cos), s.mul(b, sin));
            let second = s.fma(a, sin, s.mul(b, cos));
            X::store(s, out.add(at), first);
            X::store(s, out.add(pairs + at), second);
        }
        at += S::LANES;
    }
    if at < pairs {
        let head = s.head(pairs - at);
        // SAFETY: the head's elements end with each half.
        unsafe {
            let a = X::load_head(s, x.add(at), head);
            let b = X::load_head(s, x.add(pairs + at), head);
            let (cos, sin) = (s.load(cos.add(at)), s.load(sin.add(at)));
            let first = s.sub(s.mul(a, cos), s.mul(b, sin));
            let second = s.fma(a, sin, s.mul(b, cos));
            X::store_head(s, out.add(at), first, head);
            X::store_head(s, out.add(pairs + at), second, head);
        }
    }
}

/// # Safety
/// `turned` elements are readable at `x` and writable at `out`; cosines and sines reach as far in whole vectors.
#[inline(always)]
unsafe fn mixed<S: Simd, X: Elem>(
    s: S,
    x: *const X,
    out: *mut X,
    turned: usize,
    cos: &[f32],
    sin: &[f32],
) {
    let (cos, sin) = (cos.as_ptr(), sin.as_ptr());
    let mut at = 0;
    while at < turned {
        let n = (turned - at).min(S::LANES);
        // SAFETY: the head's elements end with what is turned.
        unsafe {
            let head = s.head(n);
            let v = if n == S::LANES {
                X::load(s, x.add(at))
            } else {
                X::load_head(s, x.add(at), head)
            };
            let turned = s.fma(
                s.swap_pairs(v),
                s.load(sin.add(at)),
                s.mul(v, s.load(cos.add(at))),
            );
            if n == S::LANES {
                X::store(s, out.add(at), turned);
            } else {
                X::store_head(s, out.add(at), turned, head);
            }
        }
        at += n;
    }
}

//! The running softmax of one row.
//!
//! Scores are kept in base 2: times log₂ e, so that a weight is a power of two of a difference, which costs half of what an
//! exponential does.

use super::super::lanes::{Simd, Task};
use super::super::math::tanh;
use super::TILE;
use core::f32::consts::LOG2_E;
use core::ops::Range;

/// What a row has seen so far.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// Greatest score, in base 2.
    pub max: f32,
    /// Sum of 2^(score − max).
    pub sum: f32,
}

impl Running {
    /// Nothing seen.
    pub const NOTHING: Running = Running {
        max: f32::NEG_INFINITY,
        sum: 0.0,
    };

    /// Nothing seen, or a sink alone, which takes weight and gives no value.
    pub fn start(sink: Option<f32>) -> Self {
        match sink {
            Some(sink) if sink != f32::NEG_INFINITY => Running {
                max: sink * LOG2_E,
                sum: 1.0,
            },
            _ => Running::NOTHING,
        }
    }
}

/// 2ˣ for x up to 100, at most 1.5 units in the last place off and exactly 1 for 0.
///
/// Below −125 it is zero: such a weight cannot change a softmax, and subnormal operands are slow on many CPUs. −∞ gives 0, NaN
/// stays NaN.
#[inline(always)]
pub fn power<S: Simd>(s: S, x: S::V) -> S::V {
    // Least greatest relative error of 1 + r·p(r) on −½..½, by the exchange algorithm: 2.6e-9, and 2.1e-8 in single precision.
    const P: [f32; 6] = [
        0.693_147_24,
        0.240_226_52,
        0.055_503_104,
        0.009_617_693,
        0.001_340_664_3,
        0.000_155_946_78,
    ];
    let n = s.round(x);
    let r = s.sub(x, n);
    let mut y = s.splat(P[5]);
    y = s.fma(y, r, s.splat(P[4]));
    y = s.fma(y, r, s.splat(P[3]));
    y = s.fma(y, r, s.splat(P[2]));
    y = s.fma(y, r, s.splat(P[1]));
    y = s.fma(y, r, s.splat(P[0]));
    y = s.fma(y, r, s.splat(1.0));
    // The exponent is added to the bits: y is at least 0.7, so that from −125 on the result is a normal number.
    let power = s.shl::<23>(s.rounded(n));
    let y = s.as_floats(s.add_words(s.as_words(y), power));
    s.pick_less(x, s.splat(-125.0), s.splat(0.0), y)
}

/// Replaces scores by weights.
///
/// # Safety
/// A vector is readable and writable at `p`.
#[inline(always)]
unsafe fn weigh<S: Simd>(s: S, p: *mut f32, base: S::V) -> S::V {
    // SAFETY: the caller's contract.
    unsafe {
        let weight = power(s, s.sub(s.load(p), base));
        s.store(p, weight);
        weight
    }
}

/// Turns a row's products with the keys of a tile into weights, and yields the new state and the factor for what was
/// accumulated before.
///
/// Vectors that hold a key which the row sees are worked on whole, with −∞ in the other lanes; the rest would add zeros. So
/// the order of the sums does not depend on which other rows shared the tile.
pub struct Weights<'a> {
    /// In: products at `visible`, anything elsewhere. Out: weights at `visible`, anything elsewhere.
    pub scores: &'a mut [f32; TILE],
    /// Keys of the tile that the row sees, at least one.
    pub visible: Range<usize>,
    /// From products to scores in base 2, or to what the cap's tanh takes.
    pub scale: f32,
    /// Times log₂ e; 0 for none.
    pub cap: f32,
    pub running: Running,
}

/// The factor and the cap that [`Weights`] takes, from those of the call.
pub fn in_base_2(scale: f32, softcap: f32) -> (f32, f32) {
    if softcap == 0.0 {
        (scale * LOG2_E, 0.0)
    } else {
        (scale / softcap, softcap * LOG2_E)
    }
}

impl Task for Weights<'_> {
    type Out = (Running, f32);
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> (Running, f32) {
        let p = self.scores.as_mut_ptr();
        debug_assert!(self.visible.end <= TILE);
        let capped = self.cap != 0.0;
        let scale = s.splat(self.scale);
        let mut greatest = s.splat(self.running.max);
        let whole = self.visible == (0..TILE);
        let first = self.visible.start / S::LANES * S::LANES;
        let end = self.visible.end.next_multiple_of(S::LANES);
        if whole && !capped {
            for at in (0..TILE).step_by(S::LANES) {
                // SAFETY: TILE is a multiple of the lanes.
                unsafe {
                    let x = s.mul(s.load(p.add(at)), scale);
                    s.store(p.add(at), x);
                    greatest = s.max(greatest, x);
                }
            }
        } else {
            let cap = s.splat(self.cap);
            for at in (first..end).step_by(S::LANES) {
                // SAFETY: as above.
                unsafe {
                    let mut x = s.mul(s.load(p.add(at)), scale);
                    if capped {
                        x = s.mul(cap, tanh(s, x));
                    }
                    s.store(p.add(at), x);
                }
            }
            // Only now, since a cap would make −∞ finite.
            for hidden in [first..self.visible.start, self.visible.end..end] {
                for at in hidden {
                    // SAFETY: `first` and `end` lie in the tile.
                    unsafe { p.add(at).write(f32::NEG_INFINITY) };
                }
            }
            for at in (first..end).step_by(S::LANES) {
                // SAFETY: as above.
                greatest = unsafe { s.max(greatest, s.load(p.add(at))) };
            }
        }
        let max = s.largest(greatest);
        // Where everything seen is −∞, the difference to it would be NaN; every weight is 0 then.
        let base = s.splat(if max == f32::NEG_INFINITY { 0.0 } else { max });
        let mut sum = s.splat(0.0);
        if whole {
            for at in (0..TILE).step_by(S::LANES) {
                // SAFETY: as above.
                sum = s.add(sum, unsafe { weigh(s, p.add(at), base) });
            }
        } else {
            for at in (first..end).step_by(S::LANES) {
                // SAFETY: as above.
                sum = s.add(sum, unsafe { weigh(s, p.add(at), base) });
            }
        }
        let factor = if max == self.running.max {
            // What 2⁰ is, and what comes of nothing but −∞ is zero either way.
            1.0
        } else {
            s.largest(power(s, s.sub(s.splat(self.running.max), base)))
        };
        (
            Running {
                max,
                sum: self.running.sum * factor + s.sum(sum),
            },
            factor,
        )
    }
}

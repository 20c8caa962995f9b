//! The running softmax of one row.

use super::super::lanes::{Simd, Task};
use super::super::math::{exp, tanh};
use super::TILE;
use core::ops::Range;

/// What a row has seen so far.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// Greatest score.
    pub max: f32,
    /// Sum of exp(score − max).
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
            Some(max) if max != f32::NEG_INFINITY => Running { max, sum: 1.0 },
            _ => Running::NOTHING,
        }
    }
}

/// eˣ for x that is not above 0.
#[inline(always)]
pub fn exp_below<S: Simd>(s: S, x: S::V) -> S::V {
    exp(s, x)
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
    pub scale: f32,
    pub softcap: f32,
    pub running: Running,
}

impl Task for Weights<'_> {
    type Out = (Running, f32);
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> (Running, f32) {
        let p = self.scores.as_mut_ptr();
        debug_assert!(self.visible.end <= TILE);
        let first = self.visible.start / S::LANES * S::LANES;
        let end = self.visible.end.next_multiple_of(S::LANES);
        let scale = s.splat(self.scale);
        if self.softcap == 0.0 {
            for at in (first..end).step_by(S::LANES) {
                // SAFETY: TILE is a multiple of the lanes.
                unsafe { s.store(p.add(at), s.mul(s.load(p.add(at)), scale)) };
            }
        } else {
            let cap = s.splat(self.softcap);
            let uncap = s.splat(1.0 / self.softcap);
            for at in (first..end).step_by(S::LANES) {
                // SAFETY: as above.
                unsafe {
                    let x = s.mul(s.load(p.add(at)), scale);
                    s.store(p.add(at), s.mul(cap, tanh(s, s.mul(x, uncap))));
                }
            }
        }
        // Only now, since a cap would make −∞ finite.
        for hidden in [first..self.visible.start, self.visible.end..end] {
            for at in hidden {
                // SAFETY: `first` and `end` lie in the tile.
                unsafe { p.add(at).write(f32::NEG_INFINITY) };
            }
        }
        let mut greatest = s.splat(self.running.max);
        for at in (first..end).step_by(S::LANES) {
            // SAFETY: as above.
            greatest = unsafe { s.max(greatest, s.load(p.add(at))) };
        }
        let max = s.largest(greatest);
        // Where everything seen is −∞, the difference to it would be NaN; every weight is 0 then.
        let base = s.splat(if max == f32::NEG_INFINITY { 0.0 } else { max });
        let mut sum = s.splat(0.0);
        for at in (first..end).step_by(S::LANES) {
            // SAFETY: as above.
            unsafe {
                let weight = exp_below(s, s.sub(s.load(p.add(at)), base));
                sum = s.add(sum, weight);
                s.store(p.add(at), weight);
            }
        }
        let mut lanes = [0.0_f32; 16];
        // SAFETY: sixteen floats hold a vector of either instruction set.
        unsafe {
            s.store(
                lanes.as_mut_ptr(),
                exp_below(s, s.sub(s.splat(self.running.max), base)),
            )
        };
        let factor = lanes[0];
        (
            Running {
                max,
                sum: self.running.sum * factor + s.sum(sum),
            },
            factor,
        )
    }
}

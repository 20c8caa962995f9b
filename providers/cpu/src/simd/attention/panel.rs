//! A tile of keys or values decoded to f32 once, for many rows.
//!
//! Keys lie one behind the other. Values are cut into strips of a few vectors, since they are multiplied strip by strip: in a
//! strip the keys follow each other without a gap, where rows of a power of two would fall on a few sets of the first-level
//! cache.

use super::super::lanes::{Simd, Task};
use super::super::quant::formats::Stored;
use super::TILE;
use super::dots::{dots, sums};
use super::pages::{Vectors, fetch};
use core::marker::PhantomData;
use core::ops::Range;

/// Vectors in a strip of values; the last one may be narrower.
pub const STRIP: usize = 4;

/// Decodes the vectors at `places`: into rows of `padded` floats, or into strips of [`STRIP`] vectors. What lies behind `dim`
/// becomes zero.
///
/// Contract: the vectors at `places` have `dim` readable elements of `B`; `to` has room for [`TILE`] times `padded` floats, where
/// `padded` is `dim` in whole vectors.
pub struct Pack<'a, B> {
    pub vectors: Vectors<'a>,
    /// Vectors worked on next, fetched at the same places meanwhile.
    pub ahead: Option<Vectors<'a>>,
    pub places: Range<usize>,
    pub dim: usize,
    pub padded: usize,
    pub strips: bool,
    pub to: *mut f32,
    pub elem: PhantomData<B>,
}

impl<B: Stored> Task for Pack<'_, B> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let strip = STRIP * S::LANES;
        let step = S::LANES.max(B::ELEMENTS);
        let whole = self.dim - self.dim % step;
        let bytes = self.dim / B::ELEMENTS * B::BYTES;
        for place in self.places.clone() {
            if let Some(ahead) = &self.ahead {
                fetch(ahead.at(place), bytes);
            }
            let from = self.vectors.at(place);
            let target = |at: usize| {
                if !self.strips {
                    return self.to.wrapping_add(place * self.padded + at);
                }
                let start = at / strip * strip;
                let width = strip.min(self.padded - start);
                self.to
                    .wrapping_add(start * TILE + place * width + at - start)
            };
            let mut block = 0;
            // SAFETY: elements below `dim` are readable, and `target` stays inside the panel.
            unsafe {
                while block < whole {
                    let to = target(block);
                    let from = from.add(block / B::ELEMENTS * B::BYTES);
                    let mut at = 0;
                    while at < step {
                        s.store(to.add(at), B::lanes(s, from, at));
                        at += S::LANES;
                    }
                    block += step;
                }
                if whole < self.dim {
                    let rest = B::lanes_head(s, from, whole, self.dim - whole);
                    s.store(target(whole), rest);
                }
            }
        }
    }
}

/// Multiplies `R` query rows with the keys of a panel at `places`, `C` at a time: a group that is touched is computed whole.
///
/// Contract: `query` and the panel `keys` hold rows of `padded` floats, zero behind the head dimension; `scores` has room for `R`
/// rows of [`TILE`]; `places` begins with a multiple of `C`.
pub struct PanelScores<const R: usize, const C: usize> {
    pub query: *const f32,
    pub padded: usize,
    pub keys: *const f32,
    pub places: Range<usize>,
    pub scores: *mut f32,
}

impl<const R: usize, const C: usize> Task for PanelScores<R, C> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let mut at = self.places.start;
        while at < self.places.end {
            let mut keys = [core::ptr::null(); C];
            for j in 0..C {
                keys[j] = self.keys.wrapping_add((at + j) * self.padded).cast();
            }
            // SAFETY: the contract of the struct; `C` divides the tile.
            unsafe {
                let acc = dots::<S, f32, R, C>(s, self.query, self.padded, self.padded, keys);
                let sums = sums::<S, R, C>(s, acc);
                for i in 0..R {
                    let to = self.scores.add(i * TILE + at);
                    to.cast::<[f32; C]>().write_unaligned(sums[i]);
                }
            }
            at += C;
        }
    }
}

/// What [`super::values::Values`] does, for `R` rows and one strip of `N` vectors of a panel.
///
/// Contract: `out` and `weights` as there, `out` from the strip's first element on; `values` holds [`TILE`] times `N` vectors.
pub struct PanelValues<const R: usize, const N: usize> {
    pub out: *mut f32,
    pub padded: usize,
    pub weights: *const f32,
    pub factors: [f32; R],
    pub values: *const f32,
    pub places: Range<usize>,
}

impl<const R: usize, const N: usize> Task for PanelValues<R, N> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        // SAFETY: the contract of the struct.
        unsafe {
            let mut acc = [[s.splat(0.0); N]; R];
            for i in 0..R {
                let factor = s.splat(self.factors[i]);
                for j in 0..N {
                    let old = s.load(self.out.add(i * self.padded + j * S::LANES));
                    acc[i][j] = s.mul(old, factor);
                }
            }
            for key in self.places.clone() {
                let mut weights = [s.splat(0.0); R];
                for i in 0..R {
                    weights[i] = s.splat(*self.weights.add(i * TILE + key));
                }
                for j in 0..N {
                    let y = s.load(self.values.add((key * N + j) * S::LANES));
                    for i in 0..R {
                        acc[i][j] = s.fma(weights[i], y, acc[i][j]);
                    }
                }
            }
            for i in 0..R {
                for j in 0..N {
                    s.store(self.out.add(i * self.padded + j * S::LANES), acc[i][j]);
                }
            }
        }
    }
}

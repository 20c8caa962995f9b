//! Weighted values of a tile, decoded in registers and added to few rows of an output in f32.

use super::super::lanes::{Simd, Task};
use super::super::quant::formats::Stored;
use super::TILE;
use super::pages::Vectors;
use core::marker::PhantomData;
use core::ops::Range;

/// Bytes of values that are gone through for all their elements before the next keys, an eighth of the first-level cache.
const NEAR: usize = 4096;

/// out = out·factor + Σ weight·value over the keys at `places`, for `R` rows that read each value once.
///
/// Each element is one chain: multiplied by the factor, then one fused multiply-add for each key in ascending order. Keys
/// outside `places` are not part of it, so a value that a row does not see cannot reach it, not even as NaN times 0.
///
/// Contract: `weights` holds `R` rows of [`TILE`]; `out` holds `R` rows of f32, `padded` apart, `dim` rounded up to whole
/// vectors; the vectors at `places` have `dim` readable elements of `B`.
pub struct Values<'a, B, const R: usize, const C: usize> {
    pub out: *mut f32,
    pub padded: usize,
    pub dim: usize,
    pub weights: *const f32,
    pub factors: [f32; R],
    pub values: Vectors<'a>,
    pub places: Range<usize>,
    pub elem: PhantomData<B>,
}

impl<B: Stored, const R: usize, const C: usize> Values<'_, B, R, C> {
    /// `N` whole vectors of every row from element `at` on, over the keys at `places`.
    ///
    /// # Safety
    /// The contract of the struct; the vectors lie inside `dim`, the places among its own.
    #[inline(always)]
    unsafe fn columns<S: Simd, const N: usize>(&self, s: S, at: usize, places: Range<usize>) {
        // From a block's start, so that its scale is decoded once.
        let skip = at / B::ELEMENTS * B::BYTES;
        let inside = at % B::ELEMENTS;
        // SAFETY: the caller's contract.
        unsafe {
            let mut acc = [[s.splat(0.0); N]; R];
            let first = places.start == self.places.start;
            for i in 0..R {
                let factor = s.splat(if first { self.factors[i] } else { 1.0 });
                for j in 0..N {
                    let old = s.load(self.out.add(i * self.padded + at + j * S::LANES));
                    acc[i][j] = s.mul(old, factor);
                }
            }
            for key in places {
                let value = self.values.at(key).add(skip);
                let mut weights = [s.splat(0.0); R];
                for i in 0..R {
                    weights[i] = s.splat(*self.weights.add(i * TILE + key));
                }
                for j in 0..N {
                    let y = B::lanes(s, value, inside + j * S::LANES);
                    for i in 0..R {
                        acc[i][j] = s.fma(weights[i], y, acc[i][j]);
                    }
                }
            }
            for i in 0..R {
                for j in 0..N {
                    s.store(self.out.add(i * self.padded + at + j * S::LANES), acc[i][j]);
                }
            }
        }
    }

    /// The last, partial vector of every row.
    ///
    /// # Safety
    /// The contract of the struct; `at` is the last multiple of the lanes below `dim`.
    #[inline(always)]
    unsafe fn tail<S: Simd>(&self, s: S, at: usize) {
        // SAFETY: the caller's contract; of the values only the rest is read, and `out` has room for whole vectors.
        unsafe {
            let mut acc = [s.splat(0.0); R];
            for i in 0..R {
                let old = s.load(self.out.add(i * self.padded + at));
                acc[i] = s.mul(old, s.splat(self.factors[i]));
            }
            for key in self.places.clone() {
                let y = B::lanes_head(s, self.values.at(key), at, self.dim - at);
                for i in 0..R {
                    acc[i] = s.fma(s.splat(*self.weights.add(i * TILE + key)), y, acc[i]);
                }
            }
            for i in 0..R {
                s.store(self.out.add(i * self.padded + at), acc[i]);
            }
        }
    }
}

impl<B: Stored, const R: usize, const C: usize> Task for Values<'_, B, R, C> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let whole = self.dim / S::LANES * S::LANES;
        // Few keys are gone through for all their elements before the next, so that a cache line or a page that several
        // columns share is still near: rows that lie a power of two apart fall on a few sets of the first-level cache.
        let row = (self.dim * B::BYTES / B::ELEMENTS).max(1);
        let step = if R == 1 {
            TILE
        } else {
            (NEAR / row).clamp(8, TILE)
        };
        let mut start = self.places.start;
        while start < self.places.end {
            let places = start..self.places.end.min(start + step);
            let mut at = 0;
            // SAFETY: every call covers whole vectors inside `dim`.
            unsafe {
                while whole - at >= C * S::LANES {
                    self.columns::<S, C>(s, at, places.clone());
                    at += C * S::LANES;
                }
                while whole - at >= 2 * S::LANES {
                    self.columns::<S, 2>(s, at, places.clone());
                    at += 2 * S::LANES;
                }
                if at < whole {
                    self.columns::<S, 1>(s, at, places.clone());
                }
            }
            start = places.end;
        }
        if whole < self.dim {
            // SAFETY: this is the rest.
            unsafe { self.tail(s, whole) };
        }
    }
}

//! Weighted values of a tile, added to the rows of an output in f32.

use super::super::elem::Elem;
use super::super::lanes::{Simd, Task};
use super::KEYS;
use super::pages::{Vectors, fetch};
use core::marker::PhantomData;
use core::ops::Range;

/// out = out·factor + Σ weight·value over the keys at `places`, for `R` rows that read each value once.
///
/// Each element is one chain: multiplied by the factor, then one fused multiply-add for each key in ascending order. Keys
/// outside `places` are not part of it, so a value that a row does not see cannot reach it, not even as NaN times 0.
///
/// Contract: `weights` holds `R` rows of [`KEYS`]; `out` holds `R` rows of f32, `padded` apart, `dim` rounded up to whole
/// vectors; the vectors at `places` have `dim` readable elements of `B`.
pub struct Values<'a, B, const R: usize> {
    pub out: *mut f32,
    pub padded: usize,
    pub dim: usize,
    pub weights: *const f32,
    pub factors: [f32; R],
    pub values: &'a Vectors,
    /// Values of the next tile, fetched at the same places meanwhile.
    pub ahead: Option<&'a Vectors>,
    pub places: Range<usize>,
    pub elem: PhantomData<B>,
}

impl<B: Elem, const R: usize> Values<'_, B, R> {
    /// `C` whole vectors of every row from element `at` on.
    ///
    /// # Safety
    /// The contract of the struct; the vectors lie inside `dim`.
    #[inline(always)]
    unsafe fn columns<S: Simd, const C: usize>(&self, s: S, at: usize) {
        // SAFETY: the caller's contract.
        unsafe {
            let mut acc = [[s.splat(0.0); C]; R];
            for i in 0..R {
                let factor = s.splat(self.factors[i]);
                for j in 0..C {
                    acc[i][j] = s.mul(
                        s.load(self.out.add(i * self.padded + at + j * S::LANES)),
                        factor,
                    );
                }
            }
            for key in self.places.clone() {
                let value = self.values[key].cast::<B>().add(at);
                if let Some(ahead) = self.ahead {
                    fetch(
                        ahead[key].wrapping_add(at * size_of::<B>()),
                        C * S::LANES * size_of::<B>(),
                    );
                }
                let mut weight = [s.splat(0.0); R];
                for i in 0..R {
                    weight[i] = s.splat(*self.weights.add(i * KEYS + key));
                }
                for j in 0..C {
                    let y = B::load(s, value.add(j * S::LANES));
                    for i in 0..R {
                        acc[i][j] = s.fma(weight[i], y, acc[i][j]);
                    }
                }
            }
            for i in 0..R {
                for j in 0..C {
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
        let head = s.head(self.dim - at);
        // SAFETY: the caller's contract; of the values only the head is read, and `out` has room for whole vectors.
        unsafe {
            let mut acc = [s.splat(0.0); R];
            for i in 0..R {
                acc[i] = s.mul(
                    s.load(self.out.add(i * self.padded + at)),
                    s.splat(self.factors[i]),
                );
            }
            for key in self.places.clone() {
                let y = B::load_head(s, self.values[key].cast::<B>().add(at), head);
                for i in 0..R {
                    acc[i] = s.fma(s.splat(*self.weights.add(i * KEYS + key)), y, acc[i]);
                }
            }
            for i in 0..R {
                s.store(self.out.add(i * self.padded + at), acc[i]);
            }
        }
    }
}

impl<B: Elem, const R: usize> Task for Values<'_, B, R> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let whole = self.dim / S::LANES;
        let mut done = 0;
        // SAFETY: every call covers whole vectors inside `dim`, the last one the rest.
        unsafe {
            if R == 1 {
                // One row alone needs more columns at once to cover the latency of a multiply-add.
                while whole - done >= 8 {
                    self.columns::<S, 8>(s, done * S::LANES);
                    done += 8;
                }
            }
            while whole - done >= 4 {
                self.columns::<S, 4>(s, done * S::LANES);
                done += 4;
            }
            while done < whole {
                self.columns::<S, 1>(s, done * S::LANES);
                done += 1;
            }
            if whole * S::LANES < self.dim {
                self.tail(s, whole * S::LANES);
            }
        }
    }
}

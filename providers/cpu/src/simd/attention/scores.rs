//! Products of query rows with the keys of a tile.

use super::super::dot::{dot, zero};
use super::super::elem::Elem;
use super::super::lanes::{Simd, Task};
use super::KEYS;
use super::pages::{Vectors, fetch};
use core::marker::PhantomData;
use core::ops::Range;

/// Multiplies `R` query rows with the keys at `places`, in groups of four: a group that is touched is computed whole.
///
/// Contract: `query` holds `R` rows of f32, `padded` apart, zero from `dim` on; the vectors have `dim` readable elements of
/// `B`; `scores` has room for `R` rows of [`KEYS`].
pub struct Scores<'a, B, const R: usize> {
    pub query: *const f32,
    pub padded: usize,
    pub dim: usize,
    pub keys: &'a Vectors,
    /// Keys of the next tile, fetched at the same places meanwhile.
    pub ahead: Option<&'a Vectors>,
    pub places: Range<usize>,
    pub scores: *mut f32,
    pub elem: PhantomData<B>,
}

impl<B: Elem, const R: usize> Task for Scores<'_, B, R> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let mut at = self.places.start / 4 * 4;
        while at < self.places.end {
            let keys = [
                self.keys[at].cast::<B>(),
                self.keys[at + 1].cast::<B>(),
                self.keys[at + 2].cast::<B>(),
                self.keys[at + 3].cast::<B>(),
            ];
            if let Some(ahead) = self.ahead {
                for key in &ahead[at..at + 4] {
                    fetch(*key, self.dim * size_of::<B>());
                }
            }
            // SAFETY: the contract of the struct; `at` + 3 is below KEYS, a multiple of four.
            unsafe {
                let acc = dot::<S, B, R, 4>(
                    s,
                    self.query,
                    self.padded,
                    keys,
                    self.dim,
                    zero::<S, R, 4>(s),
                );
                for (i, row) in acc.iter().enumerate() {
                    let sums = s.sum4(*row);
                    self.scores
                        .add(i * KEYS + at)
                        .cast::<[f32; 4]>()
                        .write_unaligned(sums);
                }
            }
            at += 4;
        }
    }
}

//! Multiply-adds of f32.

use super::super::lanes::{Simd, Task};
use super::super::{Isa, with_isa};
use super::{CHAINS, FACTORS, GROUP};
use std::hint::black_box;

/// Sums of every output, each by `steps` passes: `out[i]` for output number `first + i`.
///
/// # Safety
/// `isa` is available.
pub unsafe fn floats(
    isa: Isa,
    a: &[f32; FACTORS],
    b: &[f32; FACTORS],
    steps: u64,
    first: usize,
    out: &mut [f32],
) {
    with_isa!(isa, s => s.run(Floats { a, b, steps, first, out }));
}

struct Floats<'a> {
    a: &'a [f32; FACTORS],
    b: &'a [f32; FACTORS],
    steps: u64,
    first: usize,
    out: &'a mut [f32],
}

/// Lanes of the widest vector.
const MOST: usize = 16;

/// Factor `i` of each output of a vector whose first output is number `first`.
fn lanes(of: &[f32; FACTORS], first: usize, i: usize) -> [f32; MOST] {
    std::array::from_fn(|lane| of[(first + lane) % (FACTORS / GROUP) * GROUP + i])
}

impl Task for Floats<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        // Vectors start at multiples of eight outputs from `first`, so all of them have the same factors.
        let load = |of, i| {
            let lanes = lanes(of, self.first, i);
            // SAFETY: sixteen floats are a vector of either width.
            unsafe { s.load(lanes.as_ptr()) }
        };
        let a: [S::V; GROUP] = std::array::from_fn(|i| load(self.a, i));
        let b: [S::V; GROUP] = std::array::from_fn(|i| load(self.b, i));
        for out in self.out.chunks_mut(CHAINS * S::LANES) {
            // Zeros that the compiler cannot know to be equal, or it would keep one sum for all.
            let zeros = black_box([0.0f32; CHAINS * MOST]);
            let mut acc: [S::V; CHAINS] = std::array::from_fn(|c| {
                // SAFETY: the array holds `CHAINS` vectors of the widest kind.
                unsafe { s.load(zeros.as_ptr().add(c * S::LANES)) }
            });
            for _ in 0..self.steps {
                for i in 0..GROUP {
                    for c in 0..CHAINS {
                        acc[c] = s.fma(a[i], b[i], acc[c]);
                    }
                }
            }
            let mut sums = [0.0f32; CHAINS * MOST];
            for (c, acc) in acc.into_iter().enumerate() {
                // SAFETY: as above.
                unsafe { s.store(sums.as_mut_ptr().add(c * S::LANES), acc) };
            }
            out.copy_from_slice(&sums[..out.len()]);
        }
    }
}

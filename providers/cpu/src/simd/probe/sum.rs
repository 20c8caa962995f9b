//! The sum of a run of floats, read once.

use super::super::lanes::{Simd, Task};
use super::super::{Isa, with_isa};

/// The sum of `x`. Eight running vectors, so that additions never hold up the loads.
///
/// # Safety
/// `isa` is available.
pub unsafe fn sum(isa: Isa, x: &[f32]) -> f32 {
    with_isa!(isa, s => s.run(Sum { x }))
}

struct Sum<'a> {
    x: &'a [f32],
}

const VECTORS: usize = 8;

impl Task for Sum<'_> {
    type Out = f32;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f32 {
        let mut total = [s.splat(0.0); VECTORS];
        let step = VECTORS * S::LANES;
        let mut chunks = self.x.chunks_exact(step);
        for chunk in &mut chunks {
            for (i, total) in total.iter_mut().enumerate() {
                // SAFETY: a chunk holds `VECTORS` whole vectors.
                *total = s.add(*total, unsafe { s.load(chunk.as_ptr().add(i * S::LANES)) });
            }
        }
        let mut rest = chunks.remainder().chunks_exact(S::LANES);
        for chunk in &mut rest {
            // SAFETY: a chunk is one vector.
            total[0] = s.add(total[0], unsafe { s.load(chunk.as_ptr()) });
        }
        let tail = rest.remainder();
        // SAFETY: the head has the tail's length.
        total[1] = s.add(total[1], unsafe {
            s.load_head(tail.as_ptr(), s.head(tail.len()))
        });
        let [a, b, c, d, e, f, g, h] = total;
        let sums = s.sum4([s.add(a, e), s.add(b, f), s.add(c, g), s.add(d, h)]);
        (sums[0] + sums[1]) + (sums[2] + sums[3])
    }
}

//! The blocks that fixed point cannot hold, in f32. They are rare, and what they give is mostly NaN; this is to be right, not fast.

use super::QuantArgs;
use super::exact::{affine, value};
use super::fixed_rows::Digits;
use super::source::Chunk;
use crate::simd::lanes::{Simd, Task};
use crate::simd::quant::panel::Panels;
use core::marker::PhantomData;

/// Adds the products of the odd parts of row `row` with a panel, whose blocks `chunk` gives one at a time, to its accumulator.
///
/// # Safety
/// `digits` is the prepared row; the chunks hold a block; the accumulator, `S::LANES` floats, is writable.
pub unsafe fn run<S: Simd, F: Panels>(
    s: S,
    args: &QuantArgs,
    row: usize,
    digits: Digits,
    chunk: impl Fn(usize) -> Chunk,
    acc: *mut f32,
) {
    let parts = F::ELEMENTS / 32;
    for block in 0..args.k / F::ELEMENTS {
        for part in 0..parts {
            let at = block * parts + part;
            // SAFETY: the row was prepared.
            if !unsafe { digits.part(at).is_odd() } {
                continue;
            }
            let mut x = [0.0; 32];
            for (i, x) in x.iter_mut().enumerate() {
                let from = args
                    .a_row(row)
                    .wrapping_add((32 * at + i) * args.a_type.bytes());
                // SAFETY: the row has k elements.
                *x = unsafe { args.a_type.decode(from) };
            }
            s.run(Part::<F> {
                chunk: chunk(block),
                part,
                x,
                acc,
                format: PhantomData,
            });
        }
    }
}

struct Part<F> {
    chunk: Chunk,
    part: usize,
    x: [f32; 32],
    acc: *mut f32,
    format: PhantomData<F>,
}

impl<F: Panels> Task for Part<F> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Chunk { body, head } = self.chunk;
        // SAFETY: the contract of `run`.
        unsafe {
            let mut acc = s.load(self.acc);
            for g in 0..8 {
                let scales = affine::<S, F>(s, head, self.part, g / 4);
                let group = F::group(s, body, self.part, g);
                for i in 0..4 {
                    let w = value::<S, F>(s, group, i, scales);
                    acc = s.fma(w, s.splat(self.x[4 * g + i]), acc);
                }
            }
            s.store(self.acc, acc);
        }
    }
}

//! From accumulators to output elements: the bias is added in f32, then the result is rounded once.

use super::QuantArgs;
use crate::simd::elem::{Elem, with_elem};
use crate::simd::lanes::{Simd, Task};
use core::marker::PhantomData;

/// Writes rows of accumulators, `width` floats each at `from`, to `rows` rows of the output from (`row`, `column`); columns
/// from `end` on are dropped.
///
/// # Safety
/// The accumulators are readable; the elements of the output belong to the caller, and the bias of their columns is readable.
pub unsafe fn finish<S: Simd>(
    s: S,
    args: &QuantArgs,
    from: *const f32,
    width: usize,
    (row, rows): (usize, usize),
    column: usize,
    end: usize,
) {
    let mut bias = [0.0_f32; 64];
    debug_assert!(width <= bias.len());
    if !args.bias.is_null() {
        for (i, to) in bias.iter_mut().enumerate().take(width.min(end - column)) {
            let at = (column + i) as isize * args.bias_stride as isize;
            let at = args
                .bias
                .wrapping_offset(at * args.bias_type.bytes() as isize);
            // SAFETY: the column lies below `end`, so its bias is readable.
            *to = unsafe { args.bias_type.decode(at) };
        }
    }
    let size = args.out_type.bytes() as isize;
    let out = args
        .out
        .wrapping_offset((row as isize * args.out_stride as isize + column as isize) * size);
    let bias = (!args.bias.is_null()).then_some(bias.as_ptr());
    with_elem!(args.out_type, E => s.run(Finish::<E> {
        from,
        width,
        rows,
        columns: width.min(end - column),
        bias,
        out: out.cast(),
        stride: args.out_stride as isize,
        elem: PhantomData,
    }));
}

struct Finish<E> {
    from: *const f32,
    width: usize,
    rows: usize,
    columns: usize,
    bias: Option<*const f32>,
    out: *mut E,
    stride: isize,
    elem: PhantomData<E>,
}

impl<E: Elem> Task for Finish<E> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for row in 0..self.rows {
            let out = self.out.wrapping_offset(row as isize * self.stride);
            for at in (0..self.columns).step_by(S::LANES) {
                // SAFETY: `width` is whole vectors; of the output only columns that belong to the caller are written.
                unsafe {
                    let mut v = s.load(self.from.add(row * self.width + at));
                    if let Some(bias) = self.bias {
                        v = s.add(v, s.load(bias.add(at)));
                    }
                    let out = out.wrapping_add(at);
                    if at + S::LANES <= self.columns {
                        E::store(s, out, v);
                    } else {
                        E::store_head(s, out, v, s.head(self.columns - at));
                    }
                }
            }
        }
    }
}

//! From sums to output elements: the bias is added in f32, then the result is rounded once.

use super::super::elem::{Elem, with_elem};
use super::super::lanes::Simd;
use super::MatmulArgs;
use core::ops::Range;

/// Decodes the bias of the columns `n` to `to`; null where there is none.
///
/// # Safety
/// The columns are the caller's of [`super::rows`].
#[inline]
pub unsafe fn bias(args: &MatmulArgs, n: Range<usize>, to: &mut [f32]) -> *const f32 {
    if args.bias.is_null() {
        return core::ptr::null();
    }
    let step = args.bias_stride as isize * args.bias_type.bytes() as isize;
    for (to, column) in to.iter_mut().zip(n) {
        let at = args.bias.wrapping_offset(column as isize * step);
        // SAFETY: the column's bias is readable.
        *to = unsafe { args.bias_type.decode(at) };
    }
    to.as_ptr()
}

/// Writes a tile of the output. Holds the contract of [`super::rows`] for its ranges.
pub struct Finish<'a> {
    pub args: &'a MatmulArgs,
    /// That of the first column; readable to whole vectors past the last one. Null for none.
    pub bias: *const f32,
    /// Of the first row and column; readable to whole vectors.
    pub sums: *const f32,
    /// Floats from one row of sums to the next.
    pub stride: usize,
    pub m: Range<usize>,
    pub n: Range<usize>,
}

impl Finish<'_> {
    /// Writes it; inlined into a task, as all that uses a [`Simd`].
    #[inline(always)]
    pub fn write<S: Simd>(self, s: S) {
        with_elem!(self.args.out_type, E => self.write_as::<S, E>(s));
    }

    #[inline(always)]
    fn write_as<S: Simd, E: Elem>(self, s: S) {
        let lanes = S::LANES;
        for (i, row) in self.m.clone().enumerate() {
            let row = row as isize * self.args.out_stride as isize + self.n.start as isize;
            let out = self.args.out.cast::<E>().wrapping_offset(row);
            let mut at = 0;
            while at < self.n.len() {
                // SAFETY: sums and bias reach to whole vectors; of the output only the columns of the range are written.
                unsafe {
                    let mut v = s.load(self.sums.add(i * self.stride + at));
                    if !self.bias.is_null() {
                        v = s.add(v, s.load(self.bias.add(at)));
                    }
                    if at + lanes <= self.n.len() {
                        E::store(s, out.add(at), v);
                    } else {
                        E::store_head(s, out.add(at), v, s.head(self.n.len() - at));
                    }
                }
                at += lanes;
            }
        }
    }
}

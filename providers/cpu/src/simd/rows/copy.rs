//! One row moved, and changed to another type on the way.

use crate::simd::ElemType;
use crate::simd::elem::{Elem, with_elem};
use crate::simd::lanes::{Simd, Task};
use crate::simd::quant::formats::{Format, Stored, with_format};
use core::marker::PhantomData;

impl From<ElemType> for Format {
    fn from(ty: ElemType) -> Format {
        match ty {
            ElemType::F32 => Format::F32,
            ElemType::F16 => Format::F16,
            ElemType::Bf16 => Format::Bf16,
        }
    }
}

/// What becomes of each element on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    /// It is multiplied.
    Times(f32),
    /// It is divided: not the same as a product with the inverse, which rounds once more.
    Over(f32),
}

/// Copies the bits of a row.
///
/// # Safety
/// `bytes` are readable at `from` and writable at `to`, without overlap.
#[inline(always)]
pub unsafe fn bits(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the same contract.
    unsafe { core::ptr::copy_nonoverlapping(from, to, bytes) }
}

/// Writes a row in another type: decoded, multiplied or divided in f32, rounded once.
///
/// # Safety
/// `width` elements, whole blocks of them, are readable at `from` and writable at `to`, plain types aligned.
pub unsafe fn converted<S: Simd>(
    s: S,
    (format, from): (Format, *const u8),
    (ty, to): (ElemType, *mut u8),
    width: usize,
    by: By,
) {
    with_format!(format, F => with_elem!(ty, O => s.run(Convert::<F, O> {
        from,
        to: to.cast(),
        width,
        by,
        format: PhantomData,
    })));
}

struct Convert<F, O> {
    from: *const u8,
    to: *mut O,
    width: usize,
    by: By,
    format: PhantomData<F>,
}

impl<F: Stored, O: Elem> Task for Convert<F, O> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match self.by {
            By::Times(factor) => {
                let factor = s.splat(factor);
                self.each(s, |v| s.mul(v, factor));
            }
            By::Over(divisor) => {
                let divisor = s.splat(divisor);
                self.each(s, |v| s.div(v, divisor));
            }
        }
    }
}

impl<F: Stored, O: Elem> Convert<F, O> {
    #[inline(always)]
    fn each<S: Simd>(self, s: S, change: impl Fn(S::V) -> S::V) {
        let Convert {
            from, to, width, ..
        } = self;
        if F::ELEMENTS > 1 {
            let mut block = from;
            for at in (0..width).step_by(F::ELEMENTS) {
                // Constant places inside a block let its scales be decoded once.
                for lane in (0..F::ELEMENTS).step_by(S::LANES) {
                    // SAFETY: the row is whole blocks.
                    unsafe { O::store(s, to.add(at + lane), change(F::lanes(s, block, lane))) };
                }
                block = block.wrapping_add(F::BYTES);
            }
            return;
        }
        let mut at = 0;
        while at + S::LANES <= width {
            // SAFETY: the vector lies in the row.
            unsafe { O::store(s, to.add(at), change(F::lanes(s, from, at))) };
            at += S::LANES;
        }
        if at < width {
            let n = width - at;
            // SAFETY: the head's elements end with the row.
            unsafe {
                let v = change(F::lanes_head(s, from, at, n));
                O::store_head(s, to.add(at), v, s.head(n));
            }
        }
    }
}

//! Rows decoded to f32 in scratch memory, and encoded from it.

use super::elem::{Elem, ElemType, with_elem};
use super::lanes::{Simd, Task};
use core::marker::PhantomData;

/// Decodes `n` elements at `from` to f32 at `to`, and zeroes up to `padded`, a multiple of `S::LANES`.
///
/// # Safety
/// `n` elements of `ty` are readable at `from`, `padded` floats writable at `to`; n ≤ padded.
pub unsafe fn decode<S: Simd>(
    s: S,
    ty: ElemType,
    from: *const u8,
    to: *mut f32,
    n: usize,
    padded: usize,
) {
    with_elem!(ty, E => s.run(Decode::<E> { from: from.cast(), to, n, padded }));
}

/// Encodes `n` floats at `from`, each multiplied by `factor`, to elements at `to`.
///
/// # Safety
/// `n` floats rounded up to whole vectors are readable at `from`, `n` elements of `ty` writable at `to`.
pub unsafe fn encode<S: Simd>(
    s: S,
    ty: ElemType,
    from: *const f32,
    to: *mut u8,
    n: usize,
    factor: f32,
) {
    with_elem!(ty, E => s.run(Encode::<E> { from, to: to.cast(), n, factor, elem: PhantomData }));
}

struct Decode<E> {
    from: *const E,
    to: *mut f32,
    n: usize,
    padded: usize,
}

impl<E: Elem> Task for Decode<E> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let mut at = 0;
        while at + S::LANES <= self.n {
            // SAFETY: the vector lies inside n, by the contract of `decode`.
            unsafe { s.store(self.to.add(at), E::load(s, self.from.add(at))) };
            at += S::LANES;
        }
        if at < self.n {
            // SAFETY: only the n − at elements of the head are read; the padding has room for a whole vector.
            unsafe {
                s.store(
                    self.to.add(at),
                    E::load_head(s, self.from.add(at), s.head(self.n - at)),
                )
            };
            at += S::LANES;
        }
        while at < self.padded {
            // SAFETY: both are multiples of the lanes, so the vector lies inside the padding.
            unsafe { s.store(self.to.add(at), s.splat(0.0)) };
            at += S::LANES;
        }
    }
}

struct Encode<E> {
    from: *const f32,
    to: *mut E,
    n: usize,
    factor: f32,
    elem: PhantomData<E>,
}

impl<E: Elem> Task for Encode<E> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let factor = s.splat(self.factor);
        let mut at = 0;
        while at + S::LANES <= self.n {
            // SAFETY: the vector lies inside n, by the contract of `encode`.
            unsafe { E::store(s, self.to.add(at), s.mul(s.load(self.from.add(at)), factor)) };
            at += S::LANES;
        }
        if at < self.n {
            // SAFETY: the source is readable to a whole vector; only the head's n − at elements are written.
            unsafe {
                let v = s.mul(s.load(self.from.add(at)), factor);
                E::store_head(s, self.to.add(at), v, s.head(self.n - at));
            }
        }
    }
}

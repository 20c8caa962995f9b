//! fp8, one byte an element.

use super::Stored;
use crate::simd::lanes::Simd;

/// e4m3, bias 7, finite: the greatest exponent with the greatest mantissa is NaN, there is no infinity.
#[derive(Clone, Copy)]
pub struct E4m3fn;

/// e5m2, bias 15, with infinities: the upper byte of a half.
#[derive(Clone, Copy)]
pub struct E5m2;

/// The first `n` bytes, then zeros, which decode to zero.
///
/// # Safety
/// `n` bytes are readable, n at most 16.
#[inline(always)]
unsafe fn padded(p: *const u8, n: usize) -> [u8; 16] {
    let mut bytes = [0; 16];
    // SAFETY: the caller's pointer; the buffer holds sixteen.
    unsafe { core::ptr::copy_nonoverlapping(p, bytes.as_mut_ptr(), n) };
    bytes
}

impl Stored for E4m3fn {
    const ELEMENTS: usize = 1;
    const BYTES: usize = 1;

    #[inline(always)]
    unsafe fn lanes<S: Simd>(s: S, row: *const u8, at: usize) -> S::V {
        // SAFETY: the same contract.
        s.mul(unsafe { s.load_e4m3fn(row.add(at)) }, s.splat(256.0))
    }

    #[inline(always)]
    unsafe fn lanes_head<S: Simd>(s: S, row: *const u8, at: usize, n: usize) -> S::V {
        // SAFETY: the same contract; the buffer holds the widest vector.
        unsafe { Self::lanes(s, padded(row.add(at), n).as_ptr(), 0) }
    }
}

impl Stored for E5m2 {
    const ELEMENTS: usize = 1;
    const BYTES: usize = 1;

    #[inline(always)]
    unsafe fn lanes<S: Simd>(s: S, row: *const u8, at: usize) -> S::V {
        // SAFETY: the same contract.
        unsafe { s.load_e5m2(row.add(at)) }
    }

    #[inline(always)]
    unsafe fn lanes_head<S: Simd>(s: S, row: *const u8, at: usize, n: usize) -> S::V {
        // SAFETY: the same contract; the buffer holds the widest vector.
        unsafe { Self::lanes(s, padded(row.add(at), n).as_ptr(), 0) }
    }
}

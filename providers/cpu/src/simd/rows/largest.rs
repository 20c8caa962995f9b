//! The greatest elements of blocks of a row.

use crate::simd::elem::Elem;
use crate::simd::lanes::Simd;

/// Elements of a block: small, so that looking through a block again costs little, and large enough that the blocks of a vocabulary
/// are few.
pub const BLOCK: usize = 64;

/// The first `n` elements, up to a vector; the other lanes are 0.
///
/// # Safety
/// `n` elements are readable at `x`, at most a vector.
#[inline(always)]
pub unsafe fn some<S: Simd, X: Elem>(s: S, x: *const X, n: usize) -> S::V {
    // SAFETY: the caller's elements.
    unsafe {
        if n == S::LANES {
            X::load(s, x)
        } else {
            X::load_head(s, x, s.head(n))
        }
    }
}

/// The greatest number among up to [`BLOCK`] elements, NaN passed over; −∞ for none.
///
/// # Safety
/// `n` elements are readable at `x`, at most a block.
#[inline(always)]
pub unsafe fn of_block<S: Simd, X: Elem>(s: S, x: *const X, n: usize) -> f32 {
    let least = s.splat(f32::NEG_INFINITY);
    let mut acc = [least; 4];
    if n == BLOCK {
        for i in 0..BLOCK / S::LANES {
            // SAFETY: the whole block is readable.
            let v = unsafe { X::load(s, x.add(i * S::LANES)) };
            // The accumulator comes second: it is what remains where the element is NaN.
            acc[i % 4] = s.max(v, acc[i % 4]);
        }
    } else {
        let mut at = 0;
        while at < n {
            let count = (n - at).min(S::LANES);
            // Lanes that are not there are zero; the masked-off ones must not win.
            let mut lanes = [f32::NEG_INFINITY; 16];
            // SAFETY: the head's elements are readable; sixteen floats hold a vector.
            unsafe {
                let v = X::load_head(s, x.add(at), s.head(count));
                s.store_head(lanes.as_mut_ptr(), v, s.head(count));
                acc[0] = s.max(s.load(lanes.as_ptr()), acc[0]);
            }
            at += count;
        }
    }
    s.largest(s.max(s.max(acc[0], acc[1]), s.max(acc[2], acc[3])))
}

/// The elements of a block as f32, NaN behind them.
///
/// # Safety
/// `n` elements are readable at `x`, at most a block.
#[inline(always)]
pub unsafe fn block<S: Simd, X: Elem>(s: S, x: *const X, n: usize) -> [f32; BLOCK] {
    let mut out = [f32::NAN; BLOCK];
    let mut at = 0;
    while at < n {
        let count = (n - at).min(S::LANES);
        // SAFETY: the elements are readable; whole vectors fit into the block.
        unsafe { s.store(out.as_mut_ptr().add(at), some(s, x.add(at), count)) };
        at += S::LANES;
    }
    out[n..].fill(f32::NAN);
    out
}

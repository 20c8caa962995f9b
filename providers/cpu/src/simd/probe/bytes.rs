//! Multiply-adds of bytes: four products a 32-bit sum.
//!
//! Without an instruction for the whole step, it is three: products of unsigned and signed bytes added in pairs, pairs added to 32 bits,
//! and the sum. The factors never change, so that a compiler would take the first two out of the loop: a barrier it cannot look
//! through stands in front of each.

use super::{CHAINS, FACTORS};
use core::arch::asm;
use core::arch::x86_64::*;

/// Outputs of one 256-bit vector.
const NARROW: usize = 8;
/// Outputs of one 512-bit vector.
const WIDE: usize = 16;

/// Passes whose sums of four products of at most 64 · 64 stay within 31 bits.
pub(super) const PASSES: u64 = 1 << 16;

/// The factors with the first one's sign moved to the second, so that the first fits unsigned bytes.
pub(super) fn split(
    a: &[i8; FACTORS],
    b: &[i8; FACTORS],
    first: usize,
) -> ([u8; FACTORS], [i8; FACTORS]) {
    let place = |i: usize| (i / 4 + first) % 8 * 4 + i % 4;
    (
        std::array::from_fn(|i| a[place(i)].unsigned_abs()),
        std::array::from_fn(|i| b[place(i)].wrapping_mul(a[place(i)].signum())),
    )
}

/// Sums of every output, each by `steps` passes: `out[i]` for output number `first + i`.
///
/// # Safety
/// The CPU has AVX2.
#[target_feature(enable = "avx2")]
pub unsafe fn bytes_avx2(
    a: &[i8; FACTORS],
    b: &[i8; FACTORS],
    steps: u64,
    first: usize,
    out: &mut [f32],
) {
    let (a, b) = split(a, b, first);
    // SAFETY: both arrays are one vector.
    let (a, mut b) = unsafe {
        (
            _mm256_loadu_si256(a.as_ptr().cast()),
            _mm256_loadu_si256(b.as_ptr().cast()),
        )
    };
    let ones = _mm256_set1_epi16(1);
    for out in out.chunks_mut(CHAINS * NARROW) {
        let mut totals = [0.0f64; CHAINS * NARROW];
        let mut left = steps;
        while left > 0 {
            let passes = left.min(PASSES);
            left -= passes;
            let mut acc = [_mm256_setzero_si256(); CHAINS];
            for _ in 0..passes {
                for acc in &mut acc {
                    // SAFETY: no instruction at all; it only says that `b` may have changed.
                    unsafe {
                        asm!("/* {0} */", inout(ymm_reg) b, options(nomem, nostack, preserves_flags))
                    };
                    let pairs = _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones);
                    *acc = _mm256_add_epi32(*acc, pairs);
                }
            }
            let mut sums = [0i32; CHAINS * NARROW];
            for (c, acc) in acc.into_iter().enumerate() {
                // SAFETY: the array holds `CHAINS` vectors.
                unsafe { _mm256_storeu_si256(sums.as_mut_ptr().add(c * NARROW).cast(), acc) };
            }
            for (total, sum) in totals.iter_mut().zip(sums) {
                *total += f64::from(sum);
            }
        }
        for (out, total) in out.iter_mut().zip(totals) {
            *out = total as f32;
        }
    }
}

/// Like [`bytes_avx2`], in vectors of twice the width.
///
/// # Safety
/// The CPU has AVX-512 F and BW.
#[target_feature(enable = "avx512f,avx512bw")]
pub unsafe fn bytes_avx512(
    a: &[i8; FACTORS],
    b: &[i8; FACTORS],
    steps: u64,
    first: usize,
    out: &mut [f32],
) {
    let (a, b) = split(a, b, first);
    // SAFETY: both arrays are half a vector.
    let (a, mut b) = unsafe {
        (
            _mm512_broadcast_i64x4(_mm256_loadu_si256(a.as_ptr().cast())),
            _mm512_broadcast_i64x4(_mm256_loadu_si256(b.as_ptr().cast())),
        )
    };
    let ones = _mm512_set1_epi16(1);
    for out in out.chunks_mut(CHAINS * WIDE) {
        let mut totals = [0.0f64; CHAINS * WIDE];
        let mut left = steps;
        while left > 0 {
            let passes = left.min(PASSES);
            left -= passes;
            let mut acc = [_mm512_setzero_si512(); CHAINS];
            for _ in 0..passes {
                for acc in &mut acc {
                    // SAFETY: no instruction at all; it only says that `b` may have changed.
                    unsafe {
                        asm!("/* {0} */", inout(zmm_reg) b, options(nomem, nostack, preserves_flags))
                    };
                    let pairs = _mm512_madd_epi16(_mm512_maddubs_epi16(a, b), ones);
                    *acc = _mm512_add_epi32(*acc, pairs);
                }
            }
            let mut sums = [0i32; CHAINS * WIDE];
            for (c, acc) in acc.into_iter().enumerate() {
                // SAFETY: the array holds `CHAINS` vectors.
                unsafe { _mm512_storeu_si512(sums.as_mut_ptr().add(c * WIDE).cast(), acc) };
            }
            for (total, sum) in totals.iter_mut().zip(sums) {
                *total += f64::from(sum);
            }
        }
        for (out, total) in out.iter_mut().zip(totals) {
            *out = total as f32;
        }
    }
}

//! Multiply-adds by instructions that add several products to a 32-bit sum: four of bytes (VNNI), two of bf16.
//!
//! The factors never change, and all chains are alike, so that a compiler would keep one for all: a barrier it cannot look through stands in
//! front of each instruction.

use super::bytes::{PASSES, split};
use super::{CHAINS, FACTORS};
use core::arch::asm;
use core::arch::x86_64::*;

/// Outputs of one vector.
const LANES: usize = 16;

/// Like [`super::bytes_avx512`], one instruction a step.
///
/// # Safety
/// The CPU has AVX-512 F and VNNI.
#[target_feature(enable = "avx512f,avx512vnni")]
pub unsafe fn bytes_vnni(
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
    for out in out.chunks_mut(CHAINS * LANES) {
        let mut totals = [0.0f64; CHAINS * LANES];
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
                    *acc = _mm512_dpbusd_epi32(*acc, a, b);
                }
            }
            let mut sums = [0i32; CHAINS * LANES];
            for (c, acc) in acc.into_iter().enumerate() {
                // SAFETY: the array holds `CHAINS` vectors.
                unsafe { _mm512_storeu_si512(sums.as_mut_ptr().add(c * LANES).cast(), acc) };
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

/// Sums of every output, each by `steps` passes of two instructions: `out[i]` for output number `first + i`. Factors are the bits of
/// bf16.
///
/// # Safety
/// The CPU has AVX-512 F and BF16.
#[target_feature(enable = "avx512f,avx512bf16")]
pub unsafe fn pairs_bf16(
    a: &[u16; FACTORS],
    b: &[u16; FACTORS],
    steps: u64,
    first: usize,
    out: &mut [f32],
) {
    // Pair `half` of the group of each lane's output, the first in the lower bits.
    let pairs = |of: &[u16; FACTORS], half: usize| -> __m512i {
        let words: [u32; LANES] = std::array::from_fn(|lane| {
            let at = (first + lane) % 8 * 4 + 2 * half;
            u32::from(of[at]) | u32::from(of[at + 1]) << 16
        });
        // SAFETY: the array is one vector.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    };
    let a = [pairs(a, 0), pairs(a, 1)];
    let mut b = [pairs(b, 0), pairs(b, 1)];
    for out in out.chunks_mut(CHAINS * LANES) {
        let mut acc = [_mm512_setzero_ps(); CHAINS];
        for _ in 0..steps {
            for half in 0..2 {
                for acc in &mut acc {
                    // SAFETY: no instruction at all; it only says that `b` may have changed.
                    unsafe {
                        asm!("/* {0} */", inout(zmm_reg) b[half], options(nomem, nostack, preserves_flags))
                    };
                    // SAFETY: 512 bits are 512 bits.
                    let (a, b) = unsafe {
                        (
                            core::mem::transmute::<__m512i, __m512bh>(a[half]),
                            core::mem::transmute::<__m512i, __m512bh>(b[half]),
                        )
                    };
                    *acc = _mm512_dpbf16_ps(*acc, a, b);
                }
            }
        }
        let mut sums = [0.0f32; CHAINS * LANES];
        for (c, acc) in acc.into_iter().enumerate() {
            // SAFETY: the array holds `CHAINS` vectors.
            unsafe { _mm512_storeu_ps(sums.as_mut_ptr().add(c * LANES), acc) };
        }
        out.copy_from_slice(&sums[..out.len()]);
    }
}

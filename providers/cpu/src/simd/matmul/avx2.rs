//! Columns across the lanes of AVX2.

use super::super::avx2::Avx2;
use super::panel::{BF16, F16, F32, PanelTask, Panels, STEPS};
use core::arch::x86_64::*;

#[target_feature(enable = "avx2,fma,f16c")]
fn enabled<T: PanelTask>(p: Avx2, task: T) {
    task.run(p);
}

/// Word *t* of sixteen bytes of eight rows, for each *t*.
///
/// # Safety
/// Sixteen bytes are readable at `b` and at every `stride` bytes after it, eight times.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn turn(b: *const u8, stride: isize) -> [__m256; 4] {
    // SAFETY: the caller's contract.
    let pair = |j: isize| unsafe {
        let (low, high) = (b.offset(j * stride), b.offset((j + 4) * stride));
        _mm256_insertf128_ps::<1>(
            _mm256_castps128_ps256(_mm_loadu_ps(low.cast())),
            _mm_loadu_ps(high.cast()),
        )
    };
    let (y0, y1, y2, y3) = (pair(0), pair(1), pair(2), pair(3));
    let (low01, high01) = (_mm256_unpacklo_ps(y0, y1), _mm256_unpackhi_ps(y0, y1));
    let (low23, high23) = (_mm256_unpacklo_ps(y2, y3), _mm256_unpackhi_ps(y2, y3));
    [
        _mm256_shuffle_ps::<0x44>(low01, low23),
        _mm256_shuffle_ps::<0xee>(low01, low23),
        _mm256_shuffle_ps::<0x44>(high01, high23),
        _mm256_shuffle_ps::<0xee>(high01, high23),
    ]
}

/// The lower and the upper halves of the words, widened from bf16.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn bf16_halves(words: __m256) -> [__m256; 2] {
    let words = _mm256_castps_si256(words);
    [
        _mm256_castsi256_ps(_mm256_slli_epi32::<16>(words)),
        _mm256_castsi256_ps(_mm256_and_si256(words, _mm256_set1_epi32(!0xffff))),
    ]
}

/// The lower and the upper halves of the words, widened from f16.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn f16_halves(words: __m256) -> [__m256; 2] {
    let words = _mm256_castps_si256(words);
    let low = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));
    let mixed = _mm256_packus_epi32(low, _mm256_srli_epi32::<16>(words));
    let sorted = _mm256_permute4x64_epi64::<0b11_01_10_00>(mixed);
    [
        _mm256_cvtph_ps(_mm256_castsi256_si128(sorted)),
        _mm256_cvtph_ps(_mm256_extracti128_si256::<1>(sorted)),
    ]
}

impl Panels for Avx2 {
    type S = Self;
    const PER_WORD: usize = 1;
    const ROWS: usize = 6;

    #[inline(always)]
    fn simd(self) -> Self {
        self
    }

    #[inline(always)]
    fn run<T: PanelTask>(self, task: T) {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { enabled(self, task) }
    }

    #[inline(always)]
    fn multiply_add(self, a: __m256, b: __m256, acc: __m256) -> __m256 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm256_fmadd_ps(a, b, acc) }
    }

    #[inline(always)]
    unsafe fn spread(self, p: *const u32) -> __m256 {
        // SAFETY: the caller's pointer; a token exists only where the instructions are enabled.
        unsafe { _mm256_set1_ps(p.cast::<f32>().read_unaligned()) }
    }

    #[inline(always)]
    unsafe fn columns<const TY: u8>(self, b: *const u8, stride: isize) -> [__m256; STEPS] {
        // SAFETY: the caller's pointers; a token exists only where the instructions are enabled.
        unsafe {
            let next = b.wrapping_add(16);
            let [a, b, c, d] = turn(b, stride);
            match TY {
                F32 => {
                    let [e, f, g, h] = turn(next, stride);
                    [a, b, c, d, e, f, g, h]
                }
                F16 => {
                    let ([e, f], [g, h]) = (f16_halves(c), f16_halves(d));
                    let ([a, b], [c, d]) = (f16_halves(a), f16_halves(b));
                    [a, b, c, d, e, f, g, h]
                }
                BF16 => {
                    let ([e, f], [g, h]) = (bf16_halves(c), bf16_halves(d));
                    let ([a, b], [c, d]) = (bf16_halves(a), bf16_halves(b));
                    [a, b, c, d, e, f, g, h]
                }
                _ => unreachable!(),
            }
        }
    }
}

//! Columns across the lanes of AVX-512: words that are elements, and words that are pairs of bf16.

use super::super::avx512::Avx512;
use super::panel::{BF16, F16, F32, PanelTask, Panels, STEPS};
use core::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
fn enabled<T: PanelTask>(p: Avx512, task: T) {
    task.run(p);
}

/// Word *t* of sixteen bytes of sixteen rows, for each *t*.
///
/// # Safety
/// Sixteen bytes are readable at `b` and at every `stride` bytes after it, sixteen times.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
unsafe fn turn(b: *const u8, stride: isize) -> [__m512; 4] {
    // SAFETY: the caller's contract.
    let four = |j: isize| unsafe {
        let part = |i: isize| _mm_loadu_ps(b.offset(i * stride).cast());
        let v = _mm512_castps128_ps512(part(j));
        let v = _mm512_insertf32x4::<1>(v, part(j + 4));
        let v = _mm512_insertf32x4::<2>(v, part(j + 8));
        _mm512_insertf32x4::<3>(v, part(j + 12))
    };
    let (y0, y1, y2, y3) = (four(0), four(1), four(2), four(3));
    let (low01, high01) = (_mm512_unpacklo_ps(y0, y1), _mm512_unpackhi_ps(y0, y1));
    let (low23, high23) = (_mm512_unpacklo_ps(y2, y3), _mm512_unpackhi_ps(y2, y3));
    [
        _mm512_shuffle_ps::<0x44>(low01, low23),
        _mm512_shuffle_ps::<0xee>(low01, low23),
        _mm512_shuffle_ps::<0x44>(high01, high23),
        _mm512_shuffle_ps::<0xee>(high01, high23),
    ]
}

/// The lower and the upper halves of the words, widened from bf16.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
fn bf16_halves(words: __m512) -> [__m512; 2] {
    let words = _mm512_castps_si512(words);
    [
        _mm512_castsi512_ps(_mm512_slli_epi32::<16>(words)),
        _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(!0xffff))),
    ]
}

/// The lower and the upper halves of the words, widened from f16.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
fn f16_halves(words: __m512) -> [__m512; 2] {
    let words = _mm512_castps_si512(words);
    [
        _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words)),
        _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(words))),
    ]
}

impl Panels for Avx512 {
    type S = Self;
    const PER_WORD: usize = 1;
    const ROWS: usize = 14;

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
    fn multiply_add(self, a: __m512, b: __m512, acc: __m512) -> __m512 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_fmadd_ps(a, b, acc) }
    }

    #[inline(always)]
    unsafe fn spread(self, p: *const u32) -> __m512 {
        // SAFETY: the caller's pointer; a token exists only where the instructions are enabled.
        unsafe { _mm512_set1_ps(p.cast::<f32>().read_unaligned()) }
    }

    #[inline(always)]
    unsafe fn columns<const TY: u8>(self, b: *const u8, stride: isize) -> [__m512; STEPS] {
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

/// The token of AVX-512 BF16 beside the [`Avx512`] set.
#[derive(Clone, Copy)]
pub struct Avx512Bf16(Avx512);

impl Avx512Bf16 {
    /// Makes the token.
    ///
    /// # Safety
    /// As for [`Avx512::assume`], and the CPU has AVX-512 BF16.
    pub unsafe fn assume() -> Self {
        // SAFETY: the caller's contract.
        Avx512Bf16(unsafe { Avx512::assume() })
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma,f16c")]
fn enabled_bf16<T: PanelTask>(p: Avx512Bf16, task: T) {
    task.run(p);
}

impl Panels for Avx512Bf16 {
    type S = Avx512;
    const PER_WORD: usize = 2;
    const ROWS: usize = 14;

    #[inline(always)]
    fn simd(self) -> Avx512 {
        self.0
    }

    #[inline(always)]
    fn run<T: PanelTask>(self, task: T) {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { enabled_bf16(self, task) }
    }

    #[inline(always)]
    fn multiply_add(self, a: __m512, b: __m512, acc: __m512) -> __m512 {
        // SAFETY: a token exists only where the instructions are enabled; the types are of one size, and any bits are pairs.
        unsafe {
            let pairs = |v: __m512| core::mem::transmute::<__m512, __m512bh>(v);
            _mm512_dpbf16_ps(acc, pairs(a), pairs(b))
        }
    }

    #[inline(always)]
    unsafe fn spread(self, p: *const u32) -> __m512 {
        // SAFETY: the caller's pointer.
        unsafe { self.0.spread(p) }
    }

    #[inline(always)]
    unsafe fn columns<const TY: u8>(self, b: *const u8, stride: isize) -> [__m512; STEPS] {
        assert!(TY == BF16, "words of pairs are made of bf16");
        // SAFETY: the caller's pointers; a token exists only where the instructions are enabled.
        unsafe {
            let ([a, b, c, d], [e, f, g, h]) = (turn(b, stride), turn(b.wrapping_add(16), stride));
            [a, b, c, d, e, f, g, h]
        }
    }
}

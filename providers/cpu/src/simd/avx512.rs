//! AVX-512: F, BW, VL and DQ, beside AVX2, FMA and F16C; with VNNI or without.

use super::lanes::{Simd, Task};
use core::arch::x86_64::*;

/// The token of AVX-512 F, BW, VL and DQ, and of VNNI where the parameter says so.
#[derive(Clone, Copy)]
pub struct Avx512<const VNNI: bool = false>(());

impl Avx512 {
    /// Makes the token.
    ///
    /// # Safety
    /// The CPU has AVX-512 F, BW, VL and DQ, AVX2, FMA and F16C, and the operating system keeps the registers.
    pub unsafe fn assume() -> Self {
        Avx512(())
    }
}

impl Avx512<true> {
    /// Makes the token.
    ///
    /// # Safety
    /// As for the one without VNNI; and the CPU has AVX-512 VNNI.
    pub unsafe fn assume_vnni() -> Self {
        Avx512(())
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]
fn enabled<const VNNI: bool, T: Task>(s: Avx512<VNNI>, task: T) -> T::Out {
    task.run(s)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
fn enabled_vnni<const VNNI: bool, T: Task>(s: Avx512<VNNI>, task: T) -> T::Out {
    task.run(s)
}

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

macro_rules! by_intrinsic {
    ($($method:ident($($arg:ident),+) = $intrinsic:expr;)+) => {$(
        #[inline(always)]
        fn $method(self, $($arg: __m512),+) -> __m512 {
            // SAFETY: a token exists only where the instructions are enabled.
            unsafe { $intrinsic($($arg),+) }
        }
    )+};
}

impl<const VNNI: bool> Simd for Avx512<VNNI> {
    type V = __m512;
    type H = __m256i;
    type Head = __mmask16;
    const LANES: usize = 16;
    const ROWS: usize = 6;

    #[inline(always)]
    fn run<T: Task>(self, task: T) -> T::Out {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe {
            if VNNI {
                enabled_vnni(self, task)
            } else {
                enabled(self, task)
            }
        }
    }

    by_intrinsic! {
        add(a, b) = _mm512_add_ps;
        sub(a, b) = _mm512_sub_ps;
        mul(a, b) = _mm512_mul_ps;
        div(a, b) = _mm512_div_ps;
        fma(a, b, c) = _mm512_fmadd_ps;
        max(a, b) = _mm512_max_ps;
        min(a, b) = _mm512_min_ps;
        round(a) = _mm512_roundscale_ps::<NEAREST>;
        scale_by_power(v, n) = _mm512_scalef_ps;
        abs(a) = _mm512_abs_ps;
    }

    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    fn with_sign(self, a: __m512, sign: __m512) -> __m512 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_or_ps(a, _mm512_and_ps(_mm512_set1_ps(-0.0), sign)) }
    }

    #[inline(always)]
    fn pick_less(self, a: __m512, b: __m512, yes: __m512, no: __m512) -> __m512 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b), no, yes) }
    }

    #[inline(always)]
    fn swap_pairs(self, v: __m512) -> __m512 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_permute_ps::<0b10_11_00_01>(v) }
    }

    #[inline(always)]
    fn evens(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: a token exists only where the instructions are enabled. Lanes from 16 on are those of `b`.
        unsafe {
            let from = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            _mm512_permutex2var_ps(a, from, b)
        }
    }

    #[inline(always)]
    fn odds(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: as for `evens`.
        unsafe {
            let from = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            _mm512_permutex2var_ps(a, from, b)
        }
    }

    #[inline(always)]
    fn sum4(self, v: [__m512; 4]) -> [f32; 4] {
        let mut out = [0.0; 4];
        // SAFETY: a token exists only where the instructions are enabled; `out` has four floats.
        unsafe {
            let eight = [
                _mm256_add_ps(
                    _mm512_castps512_ps256(v[0]),
                    _mm512_extractf32x8_ps::<1>(v[0]),
                ),
                _mm256_add_ps(
                    _mm512_castps512_ps256(v[1]),
                    _mm512_extractf32x8_ps::<1>(v[1]),
                ),
                _mm256_add_ps(
                    _mm512_castps512_ps256(v[2]),
                    _mm512_extractf32x8_ps::<1>(v[2]),
                ),
                _mm256_add_ps(
                    _mm512_castps512_ps256(v[3]),
                    _mm512_extractf32x8_ps::<1>(v[3]),
                ),
            ];
            let pairs = _mm256_hadd_ps(
                _mm256_hadd_ps(eight[0], eight[1]),
                _mm256_hadd_ps(eight[2], eight[3]),
            );
            let sums = _mm_add_ps(
                _mm256_castps256_ps128(pairs),
                _mm256_extractf128_ps::<1>(pairs),
            );
            _mm_storeu_ps(out.as_mut_ptr(), sums);
        }
        out
    }

    #[inline(always)]
    fn largest(self, v: __m512) -> f32 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe {
            let eight = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps::<1>(v));
            let four = _mm_max_ps(
                _mm256_castps256_ps128(eight),
                _mm256_extractf128_ps::<1>(eight),
            );
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        }
    }

    #[inline(always)]
    fn widen_f16(self, h: __m256i) -> __m512 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_cvtph_ps(h) }
    }

    #[inline(always)]
    fn widen_bf16(self, h: __m256i) -> __m512 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(h))) }
    }

    #[inline(always)]
    fn narrow_f16(self, v: __m512) -> __m256i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v) }
    }

    #[inline(always)]
    fn narrow_bf16(self, v: __m512) -> __m256i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe {
            let bits = _mm512_castps_si512(v);
            let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
            let rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
            // A NaN must not round up into infinity or wrap to zero: keep its upper half and set the quiet bit.
            let quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x0040_0000));
            let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, v);
            let picked = _mm512_mask_blend_epi32(nan, rounded, quiet);
            _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(picked))
        }
    }

    #[inline(always)]
    fn head(self, n: usize) -> __mmask16 {
        debug_assert!(n <= 16);
        // Shifted in 32 bits, since n may be all sixteen.
        ((1_u32 << n) - 1) as __mmask16
    }

    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> __m512 {
        // SAFETY: the caller's pointer; a token exists only where the instructions are enabled.
        unsafe { _mm512_loadu_ps(p) }
    }

    #[inline(always)]
    unsafe fn load_head(self, p: *const f32, head: __mmask16) -> __m512 {
        // SAFETY: as for `load`; masked-off lanes are not accessed.
        unsafe { _mm512_maskz_loadu_ps(head, p) }
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f32, v: __m512) {
        // SAFETY: as for `load`.
        unsafe { _mm512_storeu_ps(p, v) }
    }

    #[inline(always)]
    unsafe fn store_head(self, p: *mut f32, v: __m512, head: __mmask16) {
        // SAFETY: as for `load_head`.
        unsafe { _mm512_mask_storeu_ps(p, head, v) }
    }

    #[inline(always)]
    unsafe fn load16(self, p: *const u16) -> __m256i {
        // SAFETY: as for `load`.
        unsafe { _mm256_loadu_si256(p.cast()) }
    }

    #[inline(always)]
    unsafe fn load16_head(self, p: *const u16, head: __mmask16) -> __m256i {
        // SAFETY: as for `load_head`.
        unsafe { _mm256_maskz_loadu_epi16(head, p.cast()) }
    }

    #[inline(always)]
    unsafe fn store16(self, p: *mut u16, h: __m256i) {
        // SAFETY: as for `load`.
        unsafe { _mm256_storeu_si256(p.cast(), h) }
    }

    #[inline(always)]
    unsafe fn store16_head(self, p: *mut u16, h: __m256i, head: __mmask16) {
        // SAFETY: as for `load_head`.
        unsafe { _mm256_mask_storeu_epi16(p.cast(), head, h) }
    }
}

//! AVX2 with FMA and F16C.

use super::lanes::{Simd, Task};
use core::arch::x86_64::*;

/// The token of AVX2, FMA and F16C.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    /// Makes the token.
    ///
    /// # Safety
    /// The CPU has AVX2, FMA and F16C, and the operating system keeps the registers.
    pub unsafe fn assume() -> Self {
        Avx2(())
    }
}

/// The first lanes: as a mask for 32-bit lanes, and as a number for 16-bit ones, which AVX2 cannot mask.
#[derive(Clone, Copy)]
pub struct Head {
    lanes: usize,
    mask: __m256i,
}

/// A window of eight that starts at 8 − n has its first n lanes set.
static MASKS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

#[target_feature(enable = "avx2,fma,f16c")]
fn enabled<T: Task>(s: Avx2, task: T) -> T::Out {
    task.run(s)
}

/// A shuffle takes two lanes of each operand in every half: puts the pairs of the first operand in front.
#[inline]
#[target_feature(enable = "avx2")]
fn in_order(shuffled: __m256) -> __m256 {
    _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(_mm256_castps_pd(
        shuffled,
    )))
}

/// In each half: the sums of neighbouring lanes of `a`, then those of `b`.
#[inline]
#[target_feature(enable = "avx2")]
fn add_pairs(a: __m256, b: __m256) -> __m256 {
    let even = _mm256_shuffle_ps::<0b10_00_10_00>(a, b);
    let odd = _mm256_shuffle_ps::<0b11_01_11_01>(a, b);
    _mm256_add_ps(even, odd)
}

macro_rules! by_intrinsic {
    ($($method:ident($($arg:ident),+) = $intrinsic:expr;)+) => {$(
        #[inline(always)]
        fn $method(self, $($arg: __m256),+) -> __m256 {
            // SAFETY: a token exists only where the instructions are enabled.
            unsafe { $intrinsic($($arg),+) }
        }
    )+};
}

impl Simd for Avx2 {
    type V = __m256;
    type H = __m128i;
    type Head = Head;
    const LANES: usize = 8;
    const ROWS: usize = 3;

    #[inline(always)]
    fn run<T: Task>(self, task: T) -> T::Out {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { enabled(self, task) }
    }

    by_intrinsic! {
        add(a, b) = _mm256_add_ps;
        sub(a, b) = _mm256_sub_ps;
        mul(a, b) = _mm256_mul_ps;
        div(a, b) = _mm256_div_ps;
        fma(a, b, c) = _mm256_fmadd_ps;
        max(a, b) = _mm256_max_ps;
        min(a, b) = _mm256_min_ps;
        round(a) = _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>;
    }

    #[inline(always)]
    fn splat(self, x: f32) -> __m256 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm256_set1_ps(x) }
    }

    #[inline(always)]
    fn scale_by_power(self, v: __m256, n: __m256) -> __m256 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe {
            // In two steps, since 2ⁿ itself may be out of range; the first is exact, so that only the second rounds.
            let n = _mm256_cvtps_epi32(n);
            let half = _mm256_srai_epi32::<1>(n);
            let bias = _mm256_set1_epi32(127);
            let first = _mm256_slli_epi32::<23>(_mm256_add_epi32(half, bias));
            let second = _mm256_slli_epi32::<23>(_mm256_add_epi32(_mm256_sub_epi32(n, half), bias));
            _mm256_mul_ps(
                _mm256_mul_ps(v, _mm256_castsi256_ps(first)),
                _mm256_castsi256_ps(second),
            )
        }
    }

    #[inline(always)]
    fn abs(self, a: __m256) -> __m256 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), a) }
    }

    #[inline(always)]
    fn with_sign(self, a: __m256, sign: __m256) -> __m256 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm256_or_ps(a, _mm256_and_ps(_mm256_set1_ps(-0.0), sign)) }
    }

    #[inline(always)]
    fn pick_less(self, a: __m256, b: __m256, yes: __m256, no: __m256) -> __m256 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm256_blendv_ps(no, yes, _mm256_cmp_ps::<_CMP_LT_OQ>(a, b)) }
    }

    #[inline(always)]
    fn swap_pairs(self, v: __m256) -> __m256 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm256_permute_ps::<0b10_11_00_01>(v) }
    }

    #[inline(always)]
    fn evens(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { in_order(_mm256_shuffle_ps::<0b10_00_10_00>(a, b)) }
    }

    #[inline(always)]
    fn odds(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { in_order(_mm256_shuffle_ps::<0b11_01_11_01>(a, b)) }
    }

    #[inline(always)]
    fn sum4(self, v: [__m256; 4]) -> [f32; 4] {
        let mut out = [0.0; 4];
        // SAFETY: a token exists only where the instructions are enabled; `out` has four floats.
        unsafe {
            // What `hadd` does, which takes more steps on some CPUs.
            let pairs = add_pairs(add_pairs(v[0], v[1]), add_pairs(v[2], v[3]));
            let sums = _mm_add_ps(
                _mm256_castps256_ps128(pairs),
                _mm256_extractf128_ps::<1>(pairs),
            );
            _mm_storeu_ps(out.as_mut_ptr(), sums);
        }
        out
    }

    #[inline(always)]
    fn largest(self, v: __m256) -> f32 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe {
            let four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        }
    }

    #[inline(always)]
    fn widen_f16(self, h: __m128i) -> __m256 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm256_cvtph_ps(h) }
    }

    #[inline(always)]
    fn widen_bf16(self, h: __m128i) -> __m256 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(h))) }
    }

    #[inline(always)]
    fn narrow_f16(self, v: __m256) -> __m128i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v) }
    }

    #[inline(always)]
    fn narrow_bf16(self, v: __m256) -> __m128i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe {
            let bits = _mm256_castps_si256(v);
            let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
            let rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
            // A NaN must not round up into infinity or wrap to zero: keep its upper half and set the quiet bit.
            let quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x0040_0000));
            let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(v, v);
            let picked = _mm256_blendv_ps(
                _mm256_castsi256_ps(rounded),
                _mm256_castsi256_ps(quiet),
                nan,
            );
            let upper = _mm256_srli_epi32::<16>(_mm256_castps_si256(picked));
            _mm_packus_epi32(
                _mm256_castsi256_si128(upper),
                _mm256_extracti128_si256::<1>(upper),
            )
        }
    }

    #[inline(always)]
    fn head(self, n: usize) -> Head {
        debug_assert!(n <= 8);
        // SAFETY: a token exists only where the instructions are enabled; n is at most 8, so the window lies in the table.
        let mask = unsafe { _mm256_loadu_si256(MASKS.as_ptr().add(8 - n).cast()) };
        Head { lanes: n, mask }
    }

    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> __m256 {
        // SAFETY: the caller's pointer; a token exists only where the instructions are enabled.
        unsafe { _mm256_loadu_ps(p) }
    }

    #[inline(always)]
    unsafe fn load_head(self, p: *const f32, head: Head) -> __m256 {
        // SAFETY: as for `load`; masked-off lanes are not accessed.
        unsafe { _mm256_maskload_ps(p, head.mask) }
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f32, v: __m256) {
        // SAFETY: as for `load`.
        unsafe { _mm256_storeu_ps(p, v) }
    }

    #[inline(always)]
    unsafe fn store_head(self, p: *mut f32, v: __m256, head: Head) {
        // SAFETY: as for `load_head`.
        unsafe { _mm256_maskstore_ps(p, head.mask, v) }
    }

    #[inline(always)]
    unsafe fn load16(self, p: *const u16) -> __m128i {
        // SAFETY: as for `load`.
        unsafe { _mm_loadu_si128(p.cast()) }
    }

    #[inline(always)]
    unsafe fn load16_head(self, p: *const u16, head: Head) -> __m128i {
        let mut lanes = [0_u16; 8];
        // SAFETY: the caller's pointer reaches the head, which is at most eight elements; the buffer holds eight.
        unsafe {
            core::ptr::copy_nonoverlapping(
                p.cast::<u8>(),
                lanes.as_mut_ptr().cast::<u8>(),
                head.lanes * 2,
            );
            _mm_loadu_si128(lanes.as_ptr().cast())
        }
    }

    #[inline(always)]
    unsafe fn store16(self, p: *mut u16, h: __m128i) {
        // SAFETY: as for `load`.
        unsafe { _mm_storeu_si128(p.cast(), h) }
    }

    #[inline(always)]
    unsafe fn store16_head(self, p: *mut u16, h: __m128i, head: Head) {
        let mut lanes = [0_u16; 8];
        // SAFETY: as for `load16_head`.
        unsafe {
            _mm_storeu_si128(lanes.as_mut_ptr().cast(), h);
            core::ptr::copy_nonoverlapping(
                lanes.as_ptr().cast::<u8>(),
                p.cast::<u8>(),
                head.lanes * 2,
            );
        }
    }
}

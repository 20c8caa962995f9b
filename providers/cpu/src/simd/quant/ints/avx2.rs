//! Integers in AVX2.

use super::Ints;
use crate::simd::avx2::Avx2;
use core::arch::x86_64::*;

macro_rules! by_intrinsic {
    ($($method:ident($($arg:ident),+) = $intrinsic:expr;)+) => {$(
        #[inline(always)]
        fn $method(self, $($arg: __m256i),+) -> __m256i {
            // SAFETY: a token exists only where the instructions are enabled.
            unsafe { $intrinsic($($arg),+) }
        }
    )+};
}

#[inline]
#[target_feature(enable = "avx2")]
fn opaque(mut a: __m256i) -> __m256i {
    // SAFETY: the text is a comment alone.
    unsafe {
        core::arch::asm!("/* {0} */", inout(ymm_reg) a, options(nomem, nostack, preserves_flags));
    }
    a
}

impl Ints for Avx2 {
    type I = __m256i;
    type F = __m256;
    const QUADS: bool = false;

    by_intrinsic! {
        and(a, b) = _mm256_and_si256;
        or(a, b) = _mm256_or_si256;
        xor(a, b) = _mm256_xor_si256;
        add_words(a, b) = _mm256_add_epi32;
        sub_words(a, b) = _mm256_sub_epi32;
        mul_words(a, b) = _mm256_mullo_epi32;
        add_halves(a, b) = _mm256_add_epi16;
        byte_pairs(u, s) = _mm256_maddubs_epi16;
        half_pairs(a, b) = _mm256_madd_epi16;
        magnitudes(a) = _mm256_abs_epi8;
        signed_by(a, b) = _mm256_sign_epi8;
    }

    #[inline(always)]
    fn words(self, x: u32) -> __m256i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm256_set1_epi32(x as i32) }
    }

    #[inline(always)]
    fn shl<const N: u32>(self, a: __m256i) -> __m256i {
        // SAFETY: a token exists only where the instructions are enabled. A constant count becomes the immediate form.
        unsafe { _mm256_sll_epi32(a, _mm_cvtsi32_si128(N as i32)) }
    }

    #[inline(always)]
    fn shr<const N: u32>(self, a: __m256i) -> __m256i {
        // SAFETY: as for `shl`.
        unsafe { _mm256_srl_epi32(a, _mm_cvtsi32_si128(N as i32)) }
    }

    #[inline(always)]
    fn sar<const N: u32>(self, a: __m256i) -> __m256i {
        // SAFETY: as for `shl`.
        unsafe { _mm256_sra_epi32(a, _mm_cvtsi32_si128(N as i32)) }
    }

    #[inline(always)]
    fn shr_by_lane(self, a: __m256i) -> __m256i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm256_srlv_epi32(a, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)) }
    }

    #[inline(always)]
    fn floats(self, a: __m256i) -> __m256 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm256_cvtepi32_ps(a) }
    }

    #[inline(always)]
    fn rounded(self, v: __m256) -> __m256i {
        // SAFETY: a token exists only where the instructions are enabled. The rounding mode is the default one, to nearest.
        unsafe { _mm256_cvtps_epi32(v) }
    }

    #[inline(always)]
    fn as_floats(self, a: __m256i) -> __m256 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm256_castsi256_ps(a) }
    }

    #[inline(always)]
    fn as_words(self, v: __m256) -> __m256i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm256_castps_si256(v) }
    }

    #[inline(always)]
    fn look_up(self, table: &[u8; 16], a: __m256i) -> __m256i {
        // SAFETY: a token exists only where the instructions are enabled; the table has sixteen bytes.
        unsafe {
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
            _mm256_shuffle_epi8(table, a)
        }
    }

    #[inline(always)]
    fn quads(self, acc: __m256i, u: __m256i, s: __m256i) -> __m256i {
        self.add_words(
            acc,
            self.half_pairs(self.byte_pairs(u, s), self.words(0x0001_0001)),
        )
    }

    #[inline(always)]
    fn first_halves(self, a: __m256i) -> __m256i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe {
            // Each of the first two bytes goes to the upper half of its place, and comes down with its sign.
            let order = _mm256_setr_epi8(
                -1, 0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1, 0, -1, 1, -1, 4, -1,
                5, -1, 8, -1, 9, -1, 12, -1, 13,
            );
            _mm256_srai_epi16::<8>(_mm256_shuffle_epi8(a, order))
        }
    }

    #[inline(always)]
    fn last_halves(self, a: __m256i) -> __m256i {
        self.first_halves(self.shr::<16>(a))
    }

    #[inline(always)]
    fn opaque(self, a: __m256i) -> __m256i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { opaque(a) }
    }

    #[inline(always)]
    unsafe fn load_words(self, p: *const u8) -> __m256i {
        // SAFETY: the caller's pointer; a token exists only where the instructions are enabled.
        unsafe { _mm256_loadu_si256(p.cast()) }
    }

    #[inline(always)]
    unsafe fn store_words(self, p: *mut u8, a: __m256i) {
        // SAFETY: as for `load_words`.
        unsafe { _mm256_storeu_si256(p.cast(), a) }
    }

    #[inline(always)]
    unsafe fn load_u8(self, p: *const u8) -> __m256i {
        // SAFETY: as for `load_words`; eight bytes are read.
        unsafe { _mm256_cvtepu8_epi32(_mm_loadl_epi64(p.cast())) }
    }

    #[inline(always)]
    unsafe fn load_i8(self, p: *const u8) -> __m256i {
        // SAFETY: as for `load_u8`.
        unsafe { _mm256_cvtepi8_epi32(_mm_loadl_epi64(p.cast())) }
    }

    #[inline(always)]
    unsafe fn load_e5m2(self, p: *const u8) -> __m256 {
        // SAFETY: as for `load_u8`. The format is the upper byte of a half.
        unsafe {
            let bytes = _mm_cvtepu8_epi16(_mm_loadl_epi64(p.cast()));
            _mm256_cvtph_ps(_mm_slli_epi16::<8>(bytes))
        }
    }

    #[inline(always)]
    unsafe fn load_e4m3fn(self, p: *const u8) -> __m256 {
        // SAFETY: as for `load_u8`. Exponent and mantissa move into those of a half, whose bias is greater by 8. The shift leaves
        // the sign in two places, of which the upper one is kept. Ones in both fields are NaN, and become ones everywhere.
        unsafe {
            let moved = _mm_slli_epi16::<7>(_mm_cvtepi8_epi16(_mm_loadl_epi64(p.cast())));
            let fields = _mm_set1_epi16(0x3f80);
            let nan = _mm_cmpeq_epi16(_mm_and_si128(moved, fields), fields);
            let kept = _mm_and_si128(moved, _mm_set1_epi16(0xbf80_u16 as i16));
            _mm256_cvtph_ps(_mm_or_si128(kept, nan))
        }
    }
}

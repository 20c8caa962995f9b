//! Integers in AVX-512, with VNNI or without.

use super::Ints;
use crate::simd::avx512::Avx512;
use core::arch::x86_64::*;

macro_rules! by_intrinsic {
    ($($method:ident($($arg:ident),+) = $intrinsic:expr;)+) => {$(
        #[inline(always)]
        fn $method(self, $($arg: __m512i),+) -> __m512i {
            // SAFETY: a token exists only where the instructions are enabled.
            unsafe { $intrinsic($($arg),+) }
        }
    )+};
}

#[inline]
#[target_feature(enable = "avx512f")]
fn opaque(mut a: __m512i) -> __m512i {
    // SAFETY: the text is a comment alone.
    unsafe {
        core::arch::asm!("/* {0} */", inout(zmm_reg) a, options(nomem, nostack, preserves_flags));
    }
    a
}

impl<const VNNI: bool> Ints for Avx512<VNNI> {
    type I = __m512i;
    type F = __m512;
    const QUADS: bool = VNNI;

    by_intrinsic! {
        and(a, b) = _mm512_and_si512;
        or(a, b) = _mm512_or_si512;
        xor(a, b) = _mm512_xor_si512;
        add_words(a, b) = _mm512_add_epi32;
        sub_words(a, b) = _mm512_sub_epi32;
        mul_words(a, b) = _mm512_mullo_epi32;
        add_halves(a, b) = _mm512_add_epi16;
        byte_pairs(u, s) = _mm512_maddubs_epi16;
        half_pairs(a, b) = _mm512_madd_epi16;
        magnitudes(a) = _mm512_abs_epi8;
    }

    #[inline(always)]
    fn words(self, x: u32) -> __m512i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_set1_epi32(x as i32) }
    }

    #[inline(always)]
    fn shl<const N: u32>(self, a: __m512i) -> __m512i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_slli_epi32::<N>(a) }
    }

    #[inline(always)]
    fn shr<const N: u32>(self, a: __m512i) -> __m512i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_srli_epi32::<N>(a) }
    }

    #[inline(always)]
    fn sar<const N: u32>(self, a: __m512i) -> __m512i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_srai_epi32::<N>(a) }
    }

    #[inline(always)]
    fn shr_by_lane(self, a: __m512i) -> __m512i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe {
            let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            _mm512_srlv_epi32(a, lanes)
        }
    }

    #[inline(always)]
    fn floats(self, a: __m512i) -> __m512 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_cvtepi32_ps(a) }
    }

    #[inline(always)]
    fn rounded(self, v: __m512) -> __m512i {
        // SAFETY: a token exists only where the instructions are enabled. The rounding mode is the default one, to nearest.
        unsafe { _mm512_cvtps_epi32(v) }
    }

    #[inline(always)]
    fn as_floats(self, a: __m512i) -> __m512 {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_castsi512_ps(a) }
    }

    #[inline(always)]
    fn as_words(self, v: __m512) -> __m512i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { _mm512_castps_si512(v) }
    }

    #[inline(always)]
    fn look_up(self, table: &[u8; 16], a: __m512i) -> __m512i {
        // SAFETY: a token exists only where the instructions are enabled; the table has sixteen bytes.
        unsafe {
            let table = _mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast()));
            _mm512_shuffle_epi8(table, a)
        }
    }

    #[inline(always)]
    fn quads(self, acc: __m512i, u: __m512i, s: __m512i) -> __m512i {
        if VNNI {
            // SAFETY: this token exists only where VNNI is enabled as well.
            return unsafe { _mm512_dpbusd_epi32(acc, u, s) };
        }
        self.add_words(
            acc,
            self.half_pairs(self.byte_pairs(u, s), self.words(0x0001_0001)),
        )
    }

    #[inline(always)]
    fn signed_by(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe {
            let kept = _mm512_maskz_mov_epi8(_mm512_test_epi8_mask(b, b), a);
            _mm512_mask_sub_epi8(kept, _mm512_movepi8_mask(b), _mm512_setzero_si512(), a)
        }
    }

    #[inline(always)]
    fn first_halves(self, a: __m512i) -> __m512i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe {
            // Each of the first two bytes goes to the upper half of its place, and comes down with its sign.
            let order = _mm512_broadcast_i32x4(_mm_setr_epi8(
                -1, 0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13,
            ));
            _mm512_srai_epi16::<8>(_mm512_shuffle_epi8(a, order))
        }
    }

    #[inline(always)]
    fn last_halves(self, a: __m512i) -> __m512i {
        self.first_halves(self.shr::<16>(a))
    }

    #[inline(always)]
    fn opaque(self, a: __m512i) -> __m512i {
        // SAFETY: a token exists only where the instructions are enabled.
        unsafe { opaque(a) }
    }

    #[inline(always)]
    unsafe fn load_words(self, p: *const u8) -> __m512i {
        // SAFETY: the caller's pointer; a token exists only where the instructions are enabled.
        unsafe { _mm512_loadu_si512(p.cast()) }
    }

    #[inline(always)]
    unsafe fn store_words(self, p: *mut u8, a: __m512i) {
        // SAFETY: as for `load_words`.
        unsafe { _mm512_storeu_si512(p.cast(), a) }
    }

    #[inline(always)]
    unsafe fn load_u8(self, p: *const u8) -> __m512i {
        // SAFETY: as for `load_words`; sixteen bytes are read.
        unsafe { _mm512_cvtepu8_epi32(_mm_loadu_si128(p.cast())) }
    }

    #[inline(always)]
    unsafe fn load_i8(self, p: *const u8) -> __m512i {
        // SAFETY: as for `load_u8`.
        unsafe { _mm512_cvtepi8_epi32(_mm_loadu_si128(p.cast())) }
    }

    #[inline(always)]
    unsafe fn load_e5m2(self, p: *const u8) -> __m512 {
        // SAFETY: as for `load_u8`. The format is the upper byte of a half.
        unsafe {
            let bytes = _mm256_cvtepu8_epi16(_mm_loadu_si128(p.cast()));
            _mm512_cvtph_ps(_mm256_slli_epi16::<8>(bytes))
        }
    }

    #[inline(always)]
    unsafe fn load_e4m3fn(self, p: *const u8) -> __m512 {
        // SAFETY: as for `load_u8`. Exponent and mantissa move into those of a half, whose bias is greater by 8. The shift leaves
        // the sign in two places, of which the upper one is kept. Ones in both fields are NaN, and become ones everywhere.
        unsafe {
            let moved = _mm256_slli_epi16::<7>(_mm256_cvtepi8_epi16(_mm_loadu_si128(p.cast())));
            let fields = _mm256_set1_epi16(0x3f80);
            let nan = _mm256_cmpeq_epi16(_mm256_and_si256(moved, fields), fields);
            let kept = _mm256_and_si256(moved, _mm256_set1_epi16(0xbf80_u16 as i16));
            _mm512_cvtph_ps(_mm256_or_si256(kept, nan))
        }
    }
}

//! Integers in sixteen lanes without intrinsics: each operation by its definition.

use super::Ints;
use crate::simd::tests_wide::Wide;
use half::f16;

type I = [u32; 16];
type F = [f32; 16];

fn each(a: I, b: I, f: impl Fn(u32, u32) -> u32) -> I {
    core::array::from_fn(|i| f(a[i], b[i]))
}

fn bytes(a: u32, b: u32, f: impl Fn(u8, u8) -> u8) -> u32 {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    u32::from_le_bytes(core::array::from_fn(|i| f(a[i], b[i])))
}

fn halves(a: u32) -> [i16; 2] {
    [a as i16, (a >> 16) as i16]
}

fn of_halves([low, high]: [i16; 2]) -> u32 {
    u32::from(low as u16) | u32::from(high as u16) << 16
}

impl Ints for Wide {
    type I = I;
    type F = F;
    const QUADS: bool = true;

    fn words(self, x: u32) -> I {
        [x; 16]
    }
    fn and(self, a: I, b: I) -> I {
        each(a, b, |a, b| a & b)
    }
    fn or(self, a: I, b: I) -> I {
        each(a, b, |a, b| a | b)
    }
    fn xor(self, a: I, b: I) -> I {
        each(a, b, |a, b| a ^ b)
    }
    fn shl<const N: u32>(self, a: I) -> I {
        a.map(|a| a << N)
    }
    fn shr<const N: u32>(self, a: I) -> I {
        a.map(|a| a >> N)
    }
    fn sar<const N: u32>(self, a: I) -> I {
        a.map(|a| (a as i32 >> N) as u32)
    }
    fn shr_by_lane(self, a: I) -> I {
        core::array::from_fn(|i| a[i] >> i)
    }
    fn add_words(self, a: I, b: I) -> I {
        each(a, b, u32::wrapping_add)
    }
    fn sub_words(self, a: I, b: I) -> I {
        each(a, b, u32::wrapping_sub)
    }
    fn mul_words(self, a: I, b: I) -> I {
        each(a, b, u32::wrapping_mul)
    }
    fn add_halves(self, a: I, b: I) -> I {
        each(a, b, |a, b| {
            let (a, b) = (halves(a), halves(b));
            of_halves([a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])])
        })
    }
    fn floats(self, a: I) -> F {
        a.map(|a| a as i32 as f32)
    }
    fn rounded(self, v: F) -> I {
        v.map(|v| v.round_ties_even() as i32 as u32)
    }
    fn as_floats(self, a: I) -> F {
        a.map(f32::from_bits)
    }
    fn as_words(self, v: F) -> I {
        v.map(f32::to_bits)
    }
    fn look_up(self, table: &[u8; 16], a: I) -> I {
        a.map(|a| bytes(a, 0, |byte, _| table[usize::from(byte)]))
    }
    fn byte_pairs(self, u: I, s: I) -> I {
        each(u, s, |u, s| {
            let (u, s) = (u.to_le_bytes(), s.to_le_bytes());
            let pair = |i: usize| {
                let sum = i32::from(u[i]) * i32::from(s[i] as i8)
                    + i32::from(u[i + 1]) * i32::from(s[i + 1] as i8);
                i16::try_from(sum).expect("the caller promises that the sum fits")
            };
            of_halves([pair(0), pair(2)])
        })
    }
    fn half_pairs(self, a: I, b: I) -> I {
        each(a, b, |a, b| {
            let (a, b) = (halves(a), halves(b));
            (i32::from(a[0]) * i32::from(b[0]) + i32::from(a[1]) * i32::from(b[1])) as u32
        })
    }
    fn quads(self, acc: I, u: I, s: I) -> I {
        let sums = each(u, s, |u, s| {
            let (u, s) = (u.to_le_bytes(), s.to_le_bytes());
            (0..4)
                .map(|i| i32::from(u[i]) * i32::from(s[i] as i8))
                .sum::<i32>() as u32
        });
        self.add_words(acc, sums)
    }
    fn magnitudes(self, a: I) -> I {
        a.map(|a| bytes(a, 0, |byte, _| (byte as i8).unsigned_abs()))
    }
    fn signed_by(self, a: I, b: I) -> I {
        each(a, b, |a, b| {
            bytes(a, b, |a, b| {
                (a as i8).wrapping_mul((b as i8).signum()) as u8
            })
        })
    }
    fn first_halves(self, a: I) -> I {
        a.map(|a| of_halves([i16::from(a as i8), i16::from((a >> 8) as i8)]))
    }
    fn last_halves(self, a: I) -> I {
        a.map(|a| of_halves([i16::from((a >> 16) as i8), i16::from((a >> 24) as i8)]))
    }
    fn opaque(self, a: I) -> I {
        a
    }
    unsafe fn load_words(self, p: *const u8) -> I {
        // SAFETY: the caller's pointer.
        unsafe { p.cast::<I>().read_unaligned() }
    }
    unsafe fn store_words(self, p: *mut u8, a: I) {
        // SAFETY: the caller's pointer.
        unsafe { p.cast::<I>().write_unaligned(a) }
    }
    unsafe fn load_u8(self, p: *const u8) -> I {
        // SAFETY: the caller's pointer.
        unsafe { p.cast::<[u8; 16]>().read_unaligned() }.map(u32::from)
    }
    unsafe fn load_i8(self, p: *const u8) -> I {
        // SAFETY: the caller's pointer.
        unsafe { p.cast::<[i8; 16]>().read_unaligned() }.map(|x| x as u32)
    }
    unsafe fn load_e5m2(self, p: *const u8) -> F {
        // SAFETY: the caller's pointer.
        let bytes = unsafe { p.cast::<[u8; 16]>().read_unaligned() };
        bytes.map(|x| f16::from_bits(u16::from(x) << 8).to_f32())
    }
    unsafe fn load_e4m3fn(self, p: *const u8) -> F {
        // SAFETY: the caller's pointer.
        let bytes = unsafe { p.cast::<[u8; 16]>().read_unaligned() };
        bytes.map(|x| {
            let (e, m) = (i32::from(x >> 3 & 15), f32::from(x & 7));
            if x & 127 == 127 {
                return f32::NAN;
            }
            let size = match e {
                0 => m * 2_f32.powi(-9),
                _ => (8.0 + m) * 2_f32.powi(e - 10),
            };
            if x & 128 == 0 {
                size / 256.0
            } else {
                -size / 256.0
            }
        })
    }
}

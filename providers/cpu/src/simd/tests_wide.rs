//! Sixteen lanes without intrinsics: runs the algorithms at the width and tile height of AVX-512 on every machine.

use super::lanes::{Simd, Task};
use half::{bf16, f16};

#[derive(Clone, Copy)]
pub struct Wide;

type V = [f32; 16];
type H = [u16; 16];

fn each(a: V, b: V, f: impl Fn(f32, f32) -> f32) -> V {
    core::array::from_fn(|i| f(a[i], b[i]))
}

impl Simd for Wide {
    type V = V;
    type H = H;
    type Head = usize;
    const LANES: usize = 16;
    const ROWS: usize = 6;

    fn run<T: Task>(self, task: T) -> T::Out {
        task.run(self)
    }
    fn splat(self, x: f32) -> V {
        [x; 16]
    }
    fn add(self, a: V, b: V) -> V {
        each(a, b, |a, b| a + b)
    }
    fn sub(self, a: V, b: V) -> V {
        each(a, b, |a, b| a - b)
    }
    fn mul(self, a: V, b: V) -> V {
        each(a, b, |a, b| a * b)
    }
    fn div(self, a: V, b: V) -> V {
        each(a, b, |a, b| a / b)
    }
    fn fma(self, a: V, b: V, c: V) -> V {
        core::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
    }
    fn max(self, a: V, b: V) -> V {
        each(a, b, |a, b| if a > b { a } else { b })
    }
    fn min(self, a: V, b: V) -> V {
        each(a, b, |a, b| if a < b { a } else { b })
    }
    fn round(self, a: V) -> V {
        a.map(f32::round_ties_even)
    }
    fn scale_by_power(self, v: V, n: V) -> V {
        each(v, n, |v, n| (f64::from(v) * f64::from(n).exp2()) as f32)
    }
    fn abs(self, a: V) -> V {
        a.map(f32::abs)
    }
    fn with_sign(self, a: V, sign: V) -> V {
        each(a, sign, f32::copysign)
    }
    fn pick_less(self, a: V, b: V, yes: V, no: V) -> V {
        core::array::from_fn(|i| if a[i] < b[i] { yes[i] } else { no[i] })
    }
    fn swap_pairs(self, v: V) -> V {
        core::array::from_fn(|i| v[i ^ 1])
    }
    fn evens(self, a: V, b: V) -> V {
        core::array::from_fn(|i| if i < 8 { a[2 * i] } else { b[2 * i - 16] })
    }
    fn odds(self, a: V, b: V) -> V {
        core::array::from_fn(|i| if i < 8 { a[2 * i + 1] } else { b[2 * i - 15] })
    }
    fn sum4(self, v: [V; 4]) -> [f32; 4] {
        v.map(|v| {
            let e: [f32; 8] = core::array::from_fn(|i| v[i] + v[i + 8]);
            ((e[0] + e[1]) + (e[2] + e[3])) + ((e[4] + e[5]) + (e[6] + e[7]))
        })
    }
    fn largest(self, v: V) -> f32 {
        v.into_iter().reduce(f32::max).unwrap()
    }
    fn widen_f16(self, h: H) -> V {
        h.map(|h| f16::from_bits(h).to_f32())
    }
    fn widen_bf16(self, h: H) -> V {
        h.map(|h| bf16::from_bits(h).to_f32())
    }
    fn narrow_f16(self, v: V) -> H {
        v.map(|x| f16::from_f32(x).to_bits())
    }
    fn narrow_bf16(self, v: V) -> H {
        v.map(|x| bf16::from_f32(x).to_bits())
    }
    fn head(self, n: usize) -> usize {
        n
    }
    unsafe fn load(self, p: *const f32) -> V {
        // SAFETY: the caller's pointer.
        unsafe { p.cast::<V>().read_unaligned() }
    }
    unsafe fn load_head(self, p: *const f32, head: usize) -> V {
        core::array::from_fn(|i| {
            if i < head {
                // SAFETY: only the head is read.
                unsafe { p.add(i).read_unaligned() }
            } else {
                0.0
            }
        })
    }
    unsafe fn store(self, p: *mut f32, v: V) {
        // SAFETY: the caller's pointer.
        unsafe { p.cast::<V>().write_unaligned(v) }
    }
    unsafe fn store_head(self, p: *mut f32, v: V, head: usize) {
        for (i, x) in v.into_iter().enumerate().take(head) {
            // SAFETY: only the head is written.
            unsafe { p.add(i).write_unaligned(x) }
        }
    }
    unsafe fn load16(self, p: *const u16) -> H {
        // SAFETY: the caller's pointer.
        unsafe { p.cast::<H>().read_unaligned() }
    }
    unsafe fn load16_head(self, p: *const u16, head: usize) -> H {
        core::array::from_fn(|i| {
            if i < head {
                // SAFETY: only the head is read.
                unsafe { p.add(i).read_unaligned() }
            } else {
                0
            }
        })
    }
    unsafe fn store16(self, p: *mut u16, h: H) {
        // SAFETY: the caller's pointer.
        unsafe { p.cast::<H>().write_unaligned(h) }
    }
    unsafe fn store16_head(self, p: *mut u16, h: H, head: usize) {
        for (i, x) in h.into_iter().enumerate().take(head) {
            // SAFETY: only the head is written.
            unsafe { p.add(i).write_unaligned(x) }
        }
    }
}

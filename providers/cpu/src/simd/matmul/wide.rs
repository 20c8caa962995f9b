//! Sixteen lanes without intrinsics, for words that are elements and for pairs of bf16, so that tests run on every machine.

use super::super::tests_wide::Wide;
use super::panel::{BF16, F16, F32, PanelTask, Panels, STEPS, bytes};
use half::{bf16, f16};

type V = [f32; 16];

/// Step by step, what `read` gives for the address of each row's word.
fn turned(b: *const u8, stride: isize, word: usize, read: impl Fn(*const u8) -> f32) -> [V; STEPS] {
    core::array::from_fn(|step| {
        core::array::from_fn(|row| {
            read(
                b.wrapping_offset(row as isize * stride)
                    .wrapping_add(step * word),
            )
        })
    })
}

impl Panels for Wide {
    type S = Wide;
    const PER_WORD: usize = 1;
    const ROWS: usize = 6;

    fn simd(self) -> Wide {
        self
    }
    fn run<T: PanelTask>(self, task: T) {
        task.run(self);
    }
    fn multiply_add(self, a: V, b: V, acc: V) -> V {
        core::array::from_fn(|i| a[i].mul_add(b[i], acc[i]))
    }
    unsafe fn spread(self, p: *const u32) -> V {
        // SAFETY: the caller's pointer.
        [f32::from_bits(unsafe { p.read_unaligned() }); 16]
    }
    unsafe fn columns<const TY: u8>(self, b: *const u8, stride: isize) -> [V; STEPS] {
        // SAFETY: the caller's pointers.
        turned(b, stride, bytes(TY), |p| unsafe {
            match TY {
                F32 => p.cast::<f32>().read_unaligned(),
                F16 => p.cast::<f16>().read_unaligned().to_f32(),
                BF16 => p.cast::<bf16>().read_unaligned().to_f32(),
                _ => unreachable!(),
            }
        })
    }
}

/// Pairs of bf16: the second product of a pair is added first, as the instruction does.
#[derive(Clone, Copy)]
pub struct WidePairs;

fn pair(word: f32) -> [f32; 2] {
    let bits = word.to_bits();
    [
        f32::from_bits(bits << 16),
        f32::from_bits(bits & 0xffff_0000),
    ]
}

impl Panels for WidePairs {
    type S = Wide;
    const PER_WORD: usize = 2;
    const ROWS: usize = 14;

    fn simd(self) -> Wide {
        Wide
    }
    fn run<T: PanelTask>(self, task: T) {
        task.run(self);
    }
    fn multiply_add(self, a: V, b: V, acc: V) -> V {
        core::array::from_fn(|i| {
            let (a, b) = (pair(a[i]), pair(b[i]));
            a[0].mul_add(b[0], a[1].mul_add(b[1], acc[i]))
        })
    }
    unsafe fn spread(self, p: *const u32) -> V {
        // SAFETY: the caller's pointer.
        unsafe { Wide.spread(p) }
    }
    unsafe fn columns<const TY: u8>(self, b: *const u8, stride: isize) -> [V; STEPS] {
        assert!(TY == BF16);
        // SAFETY: the caller's pointers.
        turned(b, stride, 4, |p| unsafe {
            p.cast::<f32>().read_unaligned()
        })
    }
}

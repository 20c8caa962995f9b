//! What the tests share: seeded operands, the tokens to test with, and naive decoding.

use super::ElemType;
use super::Isa;
use super::avx2::Avx2;
use super::avx512::Avx512;
use super::lanes::Simd;
use super::tests_wide::Wide;

/// A test over every instruction set that this machine has, and over the emulated one of sixteen lanes, which always runs.
pub trait ForEach {
    fn check<S: Simd>(&mut self, s: S, name: &str);
}

pub fn for_each(test: &mut impl ForEach) {
    test.check(Wide, "sixteen lanes, emulated");
    let mut ran = 0;
    if Isa::Avx2.is_available() {
        // SAFETY: just asked.
        test.check(unsafe { Avx2::assume() }, "avx2");
        ran += 1;
    } else {
        eprintln!("skipped: this machine has no AVX2 with FMA and F16C");
    }
    if Isa::Avx512.is_available() {
        // SAFETY: just asked.
        test.check(unsafe { Avx512::assume() }, "avx512");
        ran += 1;
    } else {
        eprintln!("skipped: this machine has no AVX-512 F, BW, VL and DQ");
    }
    eprintln!("ran on {ran} of 2 instruction sets");
}

/// A small generator (splitmix64), so that operands need no dependency.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in −1..1.
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

pub const TYPES: [ElemType; 3] = [ElemType::F32, ElemType::F16, ElemType::Bf16];

/// Elements in memory, encoded.
#[derive(Clone, PartialEq, Debug)]
pub struct Memory {
    pub ty: ElemType,
    pub words: Vec<u32>,
}

impl Memory {
    pub fn filled(ty: ElemType, n: usize, mut value: impl FnMut(usize) -> f32) -> Self {
        let mut memory = Memory {
            ty,
            words: vec![0; (n * ty.bytes()).div_ceil(4)],
        };
        for i in 0..n {
            memory.set(i, value(i));
        }
        memory
    }

    pub fn set(&mut self, i: usize, x: f32) {
        assert!((i + 1) * self.ty.bytes() <= self.words.len() * 4);
        // SAFETY: just checked; words are aligned for every element.
        unsafe {
            self.ty
                .encode(self.as_mut_ptr().add(i * self.ty.bytes()), x)
        }
    }

    pub fn get(&self, i: usize) -> f64 {
        assert!((i + 1) * self.ty.bytes() <= self.words.len() * 4);
        // SAFETY: just checked.
        f64::from(unsafe { self.ty.decode(self.as_ptr().add(i * self.ty.bytes())) })
    }

    pub fn as_ptr(&self) -> *const u8 {
        self.words.as_ptr().cast()
    }

    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }
}

/// Half a unit in the last place of the type, relative.
pub fn rounding(ty: ElemType) -> f64 {
    match ty {
        ElemType::F32 => 2_f64.powi(-24),
        ElemType::F16 => 2_f64.powi(-11),
        ElemType::Bf16 => 2_f64.powi(-8),
    }
}

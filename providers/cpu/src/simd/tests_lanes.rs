//! The operations of each instruction set, and exp and tanh over them.

use super::ElemType;
use super::convert::{decode, encode};
use super::lanes::{Simd, Task};
use super::math;
use super::tests_support::{ForEach, Memory, Random, TYPES, for_each};
use half::{bf16, f16};

struct Map<'a> {
    f: usize,
    x: &'a mut [f32],
}

impl Task for Map<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for chunk in self.x.chunks_exact_mut(S::LANES) {
            // SAFETY: the chunk has as many floats as the vector has lanes.
            unsafe {
                let x = s.load(chunk.as_ptr());
                let y = if self.f == 0 {
                    math::exp(s, x)
                } else {
                    math::tanh(s, x)
                };
                s.store(chunk.as_mut_ptr(), y);
            }
        }
    }
}

/// Distance from the true value in units of the last place of the nearest float.
fn ulps(got: f32, want: f64) -> f64 {
    let near = (want as f32).abs().max(f32::MIN_POSITIVE);
    let unit = f64::from(f32::from_bits(near.to_bits() + 1)) - f64::from(near);
    (f64::from(got) - want).abs() / unit
}

struct Functions {
    step: usize,
}

impl ForEach for Functions {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for f in [0, 1] {
            let mut worst = (0.0, 0.0);
            let mut buffer = [0.0_f32; 64];
            let mut bits = (0..0x7f80_0000_u32)
                .step_by(self.step)
                .flat_map(|b| [b, b | 0x8000_0000])
                .peekable();
            while bits.peek().is_some() {
                let mut x = [0.0_f32; 64];
                for (x, bits) in x.iter_mut().zip(&mut bits) {
                    *x = f32::from_bits(bits);
                }
                buffer.copy_from_slice(&x);
                s.run(Map { f, x: &mut buffer });
                for (&x, &y) in x.iter().zip(&buffer) {
                    let want = if f == 0 {
                        f64::from(x).exp()
                    } else {
                        f64::from(x).tanh()
                    };
                    if f == 0 && want < f64::from(f32::MIN_POSITIVE) * 1.000_001 {
                        assert!(
                            y == 0.0 || want > f64::from(f32::MIN_POSITIVE) * 0.999_999,
                            "{name}: exp({x:e}) = {y:e}"
                        );
                        continue;
                    }
                    if want > f64::from(f32::MAX) {
                        // Inside half a unit of the greatest float either answer is a right rounding.
                        assert!(
                            y == f32::INFINITY || want < f64::from(f32::MAX) * 1.000_000_2,
                            "{name}: exp({x:e}) = {y:e}"
                        );
                        continue;
                    }
                    let error = ulps(y, want);
                    if error > worst.0 {
                        worst = (error, x);
                    }
                }
            }
            let limit = [1.25, 3.0][f];
            eprintln!(
                "{name}: {} is off by {:.3} units at {:e}",
                ["exp", "tanh"][f],
                worst.0,
                worst.1
            );
            assert!(
                worst.0 <= limit,
                "{name}: {} units at {:e}; wanted at most {limit}",
                worst.0,
                worst.1
            );
        }
        let special = [
            f32::NEG_INFINITY,
            f32::INFINITY,
            f32::NAN,
            0.0,
            -0.0,
            -104.0,
            89.0,
            -1e30,
            1e30,
        ];
        for (f, want) in [
            (
                0,
                [
                    0.0,
                    f32::INFINITY,
                    f32::NAN,
                    1.0,
                    1.0,
                    0.0,
                    f32::INFINITY,
                    0.0,
                    f32::INFINITY,
                ],
            ),
            (1, [-1.0, 1.0, f32::NAN, 0.0, -0.0, -1.0, 1.0, -1.0, 1.0]),
        ] {
            let mut x = [0.0_f32; 16];
            x[..9].copy_from_slice(&special);
            s.run(Map { f, x: &mut x });
            for i in 0..9 {
                let same = if want[i].is_nan() {
                    x[i].is_nan()
                } else {
                    x[i].to_bits() == want[i].to_bits()
                };
                assert!(
                    same,
                    "{name}: function {f} of {} is {}; wanted {}",
                    special[i], x[i], want[i]
                );
            }
        }
    }
}

#[test]
fn exp_and_tanh_hold_their_stated_error() {
    // A prime step, so that all exponents and many significands are met; 1 is every float, which takes minutes.
    for_each(&mut Functions { step: 1009 });
}

struct Conversions;

impl ForEach for Conversions {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        // Decoding: all 65,536 values of each 16-bit type, in rows with every length of tail.
        for ty in [ElemType::F16, ElemType::Bf16] {
            let all: Vec<u16> = (0..=u16::MAX).collect();
            let mut at = 0;
            let mut n = 1;
            while at < all.len() {
                let row = &all[at..(at + n).min(all.len())];
                let padded = row.len().next_multiple_of(S::LANES);
                let mut out = vec![f32::NAN; padded];
                // SAFETY: the row and the padded output exist.
                unsafe {
                    decode(
                        s,
                        ty,
                        row.as_ptr().cast(),
                        out.as_mut_ptr(),
                        row.len(),
                        padded,
                    )
                };
                for (i, &bits) in row.iter().enumerate() {
                    let want = match ty {
                        ElemType::F16 => f16::from_bits(bits).to_f32(),
                        _ => bf16::from_bits(bits).to_f32(),
                    };
                    assert!(
                        out[i].to_bits() == want.to_bits() || out[i].is_nan() && want.is_nan(),
                        "{name}: {ty:?} {bits:#06x} decodes to {}",
                        out[i]
                    );
                }
                assert!(
                    out[row.len()..].iter().all(|x| x.to_bits() == 0),
                    "{name}: the padding is not zero"
                );
                at += row.len();
                n = n % 67 + 1;
            }
        }
        // Encoding: ties, overflow, subnormals, NaN with a payload in the low bits only; nothing behind the row is written.
        let mut random = Random(7);
        let mut x: Vec<f32> = (0..5000)
            .map(|_| f32::from_bits(random.next() as u32))
            .collect();
        x.extend(
            [
                0x3f80_8000,
                0x3f81_8000,
                0x7f7f_ffff,
                0x7f80_0001,
                0xff80_0001,
                0x7fff_ffff,
                0x3380_0000,
                0x8000_0001,
            ]
            .map(f32::from_bits),
        );
        x.extend([
            65519.9_f32,
            65520.0,
            1.000_488_3,
            1.001_464_8,
            f32::INFINITY,
            f32::NEG_INFINITY,
            -0.0,
        ]);
        for ty in TYPES {
            let mut at = 0;
            let mut n = 1;
            while at < x.len() {
                let len = n.min(x.len() - at);
                let mut row = x[at..at + len].to_vec();
                row.resize(len.next_multiple_of(S::LANES), 0.0);
                let mut out = Memory::filled(ty, len + 1, |_| 42.0);
                // SAFETY: the row is padded to whole vectors, the output has room.
                unsafe { encode(s, ty, row.as_ptr(), out.as_mut_ptr(), len, 1.0) };
                for (i, &x) in row[..len].iter().enumerate() {
                    let want = match ty {
                        ElemType::F32 => f64::from(x),
                        ElemType::F16 => f16::from_f32(x).to_f64(),
                        ElemType::Bf16 => bf16::from_f32(x).to_f64(),
                    };
                    let got = out.get(i);
                    assert!(
                        got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                        "{name}: {x:e} encodes to {got:e} in {ty:?}; wanted {want:e}"
                    );
                }
                assert_eq!(
                    out.get(len),
                    42.0,
                    "{name}: {ty:?} was written behind a row of {len}"
                );
                at += len;
                n = n % 67 + 1;
            }
        }
    }
}

#[test]
fn rows_are_decoded_exactly_and_encoded_to_nearest() {
    for_each(&mut Conversions);
}

struct Sums;

impl ForEach for Sums {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        struct Reduce([[f32; 16]; 4]);
        impl Task for Reduce {
            type Out = ([f32; 4], [f32; 4], [f32; 4]);
            #[inline(always)]
            fn run<S: Simd>(self, s: S) -> Self::Out {
                // SAFETY: sixteen floats hold a vector of any width.
                let v = self.0.map(|x| unsafe { s.load(x.as_ptr()) });
                (s.sum4(v), v.map(|v| s.sum(v)), v.map(|v| s.largest(v)))
            }
        }
        let mut random = Random(3);
        for _ in 0..200 {
            let x: [[f32; 16]; 4] =
                core::array::from_fn(|_| core::array::from_fn(|_| random.unit()));
            let (sums, single, largest) = s.run(Reduce(x));
            for i in 0..4 {
                let mut e: Vec<f32> = x[i][..S::LANES].to_vec();
                if e.len() == 16 {
                    e = (0..8).map(|j| e[j] + e[j + 8]).collect();
                }
                let want = ((e[0] + e[1]) + (e[2] + e[3])) + ((e[4] + e[5]) + (e[6] + e[7]));
                assert_eq!(
                    sums[i].to_bits(),
                    want.to_bits(),
                    "{name}: not the stated tree"
                );
                assert_eq!(
                    single[i].to_bits(),
                    want.to_bits(),
                    "{name}: one and four differ"
                );
                let want = x[i][..S::LANES].iter().copied().fold(f32::MIN, f32::max);
                assert_eq!(largest[i], want, "{name}");
            }
        }
    }
}

#[test]
fn lanes_are_added_by_the_stated_tree() {
    for_each(&mut Sums);
}

struct Moves;

impl ForEach for Moves {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        struct Move([f32; 32]);
        impl Task for Move {
            type Out = [[f32; 16]; 3];
            #[inline(always)]
            fn run<S: Simd>(self, s: S) -> Self::Out {
                let mut out = [[0.0; 16]; 3];
                // SAFETY: both halves, of at most sixteen lanes, lie in the array, and a vector in each output.
                unsafe {
                    let (a, b) = (
                        s.load(self.0.as_ptr()),
                        s.load(self.0.as_ptr().add(S::LANES)),
                    );
                    s.store(out[0].as_mut_ptr(), s.swap_pairs(a));
                    s.store(out[1].as_mut_ptr(), s.evens(a, b));
                    s.store(out[2].as_mut_ptr(), s.odds(a, b));
                }
                out
            }
        }
        let [swapped, evens, odds] = s.run(Move(core::array::from_fn(|i| i as f32)));
        for i in 0..S::LANES {
            assert_eq!(swapped[i], (i ^ 1) as f32, "{name}");
            assert_eq!(evens[i], (2 * i) as f32, "{name}");
            assert_eq!(odds[i], (2 * i + 1) as f32, "{name}");
        }
    }
}

#[test]
fn lanes_are_exchanged_and_told_apart_by_number() {
    for_each(&mut Moves);
}

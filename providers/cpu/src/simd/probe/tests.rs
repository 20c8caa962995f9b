//! The probes' bodies against sums in plain numbers.

use super::super::Isa;
use super::{FACTORS, bytes_avx2, bytes_avx512, bytes_vnni, floats, pairs_bf16, sum};
use half::bf16;

fn available() -> Vec<Isa> {
    let found: Vec<Isa> = [Isa::Avx2, Isa::Avx512]
        .into_iter()
        .filter(|isa| isa.is_available())
        .collect();
    assert!(!found.is_empty(), "no vector instructions to test");
    found
}

fn factors() -> ([i8; FACTORS], [i8; FACTORS]) {
    (
        std::array::from_fn(|i| (i * 5 % 7) as i8 - 3),
        std::array::from_fn(|i| (i * 3 % 11) as i8 - 5),
    )
}

fn wanted(output: usize, steps: u64) -> f32 {
    let (a, b) = factors();
    let of = output % 8 * 4;
    let sum: i32 = (of..of + 4)
        .map(|i| i32::from(a[i]) * i32::from(b[i]))
        .sum();
    (i64::from(sum) * steps as i64) as f32
}

#[test]
fn every_output_has_its_own_factors_wherever_a_run_begins() {
    let (a, b) = factors();
    let (wide_a, wide_b) = (a.map(f32::from), b.map(f32::from));
    for isa in available() {
        for first in [0, 3, 8, 13] {
            for len in [1, 7, 8, 63, 64, 65, 300] {
                for steps in [0, 1, 9] {
                    let right: Vec<f32> = (first..first + len).map(|g| wanted(g, steps)).collect();
                    let mut out = vec![f32::NAN; len];
                    // SAFETY: found on this machine.
                    unsafe { floats(isa, &wide_a, &wide_b, steps, first, &mut out) };
                    assert_eq!(out, right, "{isa:?} floats from {first}, {steps} steps");
                    out.fill(f32::NAN);
                    // SAFETY: as above.
                    unsafe {
                        match isa {
                            Isa::Avx2 => bytes_avx2(&a, &b, steps, first, &mut out),
                            Isa::Avx512 => bytes_avx512(&a, &b, steps, first, &mut out),
                        }
                    }
                    assert_eq!(out, right, "{isa:?} bytes from {first}, {steps} steps");
                }
            }
        }
    }
}

#[test]
fn dot_products_are_the_same_sums() {
    let (a, b) = factors();
    let bits = |x: [i8; FACTORS]| x.map(|v| bf16::from_f32(f32::from(v)).to_bits());
    let (pairs_a, pairs_b) = (bits(a), bits(b));
    let vnni = is_x86_feature_detected!("avx512vnni");
    let pairs = is_x86_feature_detected!("avx512bf16");
    for first in [0, 3, 8, 13] {
        for len in [1, 7, 8, 63, 64, 65, 300] {
            for steps in [0, 1, 9] {
                let right: Vec<f32> = (first..first + len).map(|g| wanted(g, steps)).collect();
                let mut out = vec![f32::NAN; len];
                if vnni {
                    // SAFETY: found on this machine.
                    unsafe { bytes_vnni(&a, &b, steps, first, &mut out) };
                    assert_eq!(out, right, "bytes from {first}, {steps} steps");
                }
                if pairs {
                    // SAFETY: found on this machine.
                    unsafe { pairs_bf16(&pairs_a, &pairs_b, steps, first, &mut out) };
                    assert_eq!(out, right, "pairs from {first}, {steps} steps");
                }
            }
        }
    }
    if !vnni && !pairs {
        println!("skipped: this machine has neither instruction");
    }
}

#[test]
fn a_sum_takes_every_element_once() {
    for isa in available() {
        for len in [0usize, 1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 1001] {
            let x: Vec<f32> = (0..len).map(|i| (i + 1) as f32).collect();
            // SAFETY: found on this machine.
            let got = unsafe { sum(isa, &x) };
            assert_eq!(got, (len * (len + 1) / 2) as f32, "{isa:?} {len}");
        }
    }
}

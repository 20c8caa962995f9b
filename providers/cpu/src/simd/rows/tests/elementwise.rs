//! Sums and activations.

use super::super::add::add_on;
use super::super::exp::exp_below;
use super::super::gated::gated_on;
use super::super::normal::cumulative;
use super::super::{Activation, AddArgs, GatedArgs};
use super::*;
use crate::simd::lanes::{Simd, Task};
use crate::simd::tests_support::{ForEach, TYPES, for_each, rounding};

struct Sums;

impl ForEach for Sums {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for width in WIDTHS {
            for a in TYPES {
                for b in TYPES {
                    let (x, y) = (
                        source(a, width, noise(1, 4.0)),
                        source(b, width, noise(2, 4.0)),
                    );
                    let out = cut_both_ways(name, |cuts| {
                        let mut out = target(a, width);
                        let args = AddArgs {
                            a: rows(&x, width),
                            b: rows(&y, width),
                            out: rows_mut(&mut out, width),
                            width,
                        };
                        cuts.iter().for_each(|r| add_on(s, &args, r.clone()));
                        out
                    });
                    let at = |t, d| t * (width + PAD) + d;
                    hold(&out, width, name, |t, d| {
                        let want = x.get(at(t, d)) + y.get(at(t, d));
                        (
                            want,
                            want.abs() * 1.01 * (rounding(a) + rounding(ElemType::F32)),
                        )
                    });
                    // In the memory of the first operand.
                    let mut place = x.clone();
                    let args = AddArgs {
                        a: rows(&place, width),
                        b: rows(&y, width),
                        out: rows_mut(&mut place, width),
                        width,
                    };
                    add_on(s, &args, 0..COUNT);
                    for i in 0..COUNT * (width + PAD) {
                        if i % (width + PAD) < width {
                            assert_eq!(place.get(i), out.get(i), "{name}: in place");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn sums_of_all_types_and_tails() {
    for_each(&mut Sums);
}

/// Φ in f64, by the series and in the tail by the continued fraction.
fn normal(x: f64) -> f64 {
    let (size, density) = (x.abs(), (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt());
    let tail = if size < 3.0 {
        let (mut term, mut sum, mut odd) = (size, size, 3.0);
        while term > sum * 1e-17 {
            term *= size * size / odd;
            sum += term;
            odd += 2.0;
        }
        0.5 - density * sum
    } else {
        density
            / (1..=100)
                .rev()
                .fold(size, |below, n| size + f64::from(n) / below)
    };
    if x < 0.0 { tail } else { 1.0 - tail }
}

fn wanted(activation: Activation, gate: f64, up: f64) -> f64 {
    let sigmoid = |y: f64| 1.0 / (1.0 + (-y).exp());
    match activation {
        Activation::Silu => gate * sigmoid(gate) * up,
        Activation::GeluErf => gate * normal(gate) * up,
        Activation::GeluTanh => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (gate + 0.044715 * gate.powi(3));
            gate * sigmoid(2.0 * inner) * up
        }
        Activation::Clamped { limit, alpha } => {
            let limit = f64::from(limit);
            let (gate, up) = (gate.min(limit), up.clamp(-limit, limit));
            (up + 1.0) * gate * sigmoid(f64::from(alpha) * gate)
        }
    }
}

struct Activations;

impl ForEach for Activations {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        const SPECIAL: [f32; 8] = [-100.0, -88.5, -12.9, -3.0, 0.0, 12.0, 88.0, 100.0];
        for activation in [
            Activation::Silu,
            Activation::GeluErf,
            Activation::GeluTanh,
            Activation::Clamped {
                limit: 7.0,
                alpha: 1.702,
            },
        ] {
            for (width, ty, interleaved) in WIDTHS
                .iter()
                .flat_map(|&w| TYPES.map(|ty| [(w, ty, false), (w, ty, true)]))
                .flatten()
            {
                let mut number = noise(3, 8.0);
                let x = source(ty, 2 * width, |t, d| {
                    let value = number(t, d);
                    match (t + d) % 11 {
                        0 => SPECIAL[(t + d) / 11 % 8],
                        _ => value,
                    }
                });
                let out = cut_both_ways(name, |cuts| {
                    let mut out = target(ty, width);
                    let args = GatedArgs {
                        x: rows(&x, 2 * width),
                        out: rows_mut(&mut out, width),
                        width,
                        activation,
                        interleaved,
                    };
                    cuts.iter().for_each(|r| gated_on(s, &args, r.clone()));
                    out
                });
                let name = format!("{name} {activation:?} interleaved {interleaved}");
                hold(&out, width, &name, |t, d| {
                    let places = if interleaved {
                        [2 * d, 2 * d + 1]
                    } else {
                        [d, width + d]
                    };
                    let [gate, up] = places.map(|p| x.get(t * (2 * width + PAD) + p));
                    let want = wanted(activation, gate, up);
                    let limit = want.abs() * (1.01 * rounding(ty) + 2f64.powi(-15));
                    (
                        want,
                        limit
                            + f64::from(f32::MIN_POSITIVE).max(if ty == ElemType::F16 {
                                2f64.powi(-24)
                            } else {
                                0.0
                            }),
                    )
                });
            }
        }
    }
}

#[test]
fn activations_of_all_types_orders_and_tails() {
    for_each(&mut Activations);
}

struct Map<'a>(&'a mut [f32], f32);

impl Task for Map<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for chunk in self.0.chunks_exact_mut(S::LANES) {
            // SAFETY: the chunk is a vector.
            unsafe {
                let y = cumulative(s, s.load(chunk.as_ptr()), s.splat(self.1));
                s.store(chunk.as_mut_ptr(), y);
            }
        }
    }
}

struct Cumulative;

impl ForEach for Cumulative {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        let mut worst = 0.0_f64;
        for start in -2000..2000 {
            let x: [f32; 16] = core::array::from_fn(|i| (start as f32 + i as f32 / 16.0) / 150.0);
            let mut y = x;
            s.run(Map(&mut y, 3.0));
            for (x, y) in x.iter().zip(y) {
                let x = f64::from(*x);
                let want = 3.0 * normal(x);
                let error = (f64::from(y) - want).abs() / want;
                worst = worst.max(error / (8.0 + x * x));
            }
        }
        eprintln!(
            "{name}: off by {:.3} times (8 + x²) · 2^-24",
            worst * 2f64.powi(24)
        );
        assert!(worst <= 2f64.powi(-24), "{name}: {worst:e}");
        let mut special = [f32::NAN; 16];
        special[1..5].copy_from_slice(&[f32::INFINITY, f32::NEG_INFINITY, 0.0, -40.0]);
        s.run(Map(&mut special, 2.0));
        assert!(special[0].is_nan(), "{name}");
        assert_eq!(special[1..5], [2.0, 0.0, 1.0, 0.0], "{name}");
    }
}

#[test]
fn the_normal_distribution_holds_its_stated_error() {
    for_each(&mut Cumulative);
}

struct Below<'a>(&'a mut [f32]);

impl Task for Below<'_> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for chunk in self.0.chunks_exact_mut(S::LANES) {
            // SAFETY: the chunk is a vector.
            unsafe {
                let y = exp_below(s, s.load(chunk.as_ptr()));
                s.store(chunk.as_mut_ptr(), y);
            }
        }
    }
}

struct Exponentials;

impl ForEach for Exponentials {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        let mut worst = 0.0_f64;
        // Numbers of every exponent, by a prime step through their bits.
        for start in (0x8000_0000_u32..0xc2af_0000).step_by(16 * 1009) {
            let x: [f32; 16] = core::array::from_fn(|i| f32::from_bits(start + i as u32 * 1009));
            let mut y = x;
            s.run(Below(&mut y));
            for (x, y) in x.iter().zip(y) {
                let want = f64::from(*x).exp();
                if want < f64::from(f32::MIN_POSITIVE) * 1.000_001 {
                    assert!(f64::from(y) < 1.2e-38, "{name}: exp({x:e}) = {y:e}");
                    continue;
                }
                let near = want as f32;
                let unit = f64::from(f32::from_bits(near.to_bits() + 1)) - f64::from(near);
                worst = worst.max((f64::from(y) - want).abs() / unit);
            }
        }
        eprintln!("{name}: off by {worst:.3} units");
        assert!(worst <= 1.5, "{name}: {worst} units");
        let mut special = [f32::NAN; 16];
        special[1..6].copy_from_slice(&[f32::NEG_INFINITY, -0.0, 0.0, -88.0, -1e30]);
        s.run(Below(&mut special));
        assert!(special[0].is_nan(), "{name}");
        assert_eq!(special[1..6], [0.0, 1.0, 1.0, 0.0, 0.0], "{name}");
    }
}

#[test]
fn exponentials_hold_their_stated_error() {
    for_each(&mut Exponentials);
}

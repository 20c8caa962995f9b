//! Greatest elements and draws, against a sorted row.

use super::super::argmax::argmax_on;
use super::super::sample::sample_on;
use super::super::{ArgmaxArgs, Choice, SampleArgs};
use super::*;
use crate::simd::lanes::Simd;
use crate::simd::tests_support::{ForEach, TYPES, for_each};

const VOCABULARIES: [usize; 9] = [1, 2, 63, 64, 65, 200, 1500, 5000, 40_000];

/// Rows of several kinds: peaked, few values, masked, NaN in between, flat.
fn logits(ty: ElemType, width: usize, seed: u64) -> Memory {
    let mut random = Random(seed);
    source(ty, width, |t, _| {
        let value = random.unit();
        let likely = random.below(width.div_ceil(30)) == 0;
        let peaked = if likely {
            6.0 + 3.0 * value
        } else {
            -9.0 + 4.0 * value
        };
        match t {
            1 => (peaked / 2.0).round() * 2.0,
            2 if value > -0.6 => f32::NEG_INFINITY,
            3 if value > 0.5 => f32::NAN,
            4 => 0.25 * value,
            _ => peaked,
        }
    })
}

/// Indices of numbers in descending order, equal ones by index.
fn sorted(row: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..row.len()).filter(|&i| !row[i].is_nan()).collect();
    order.sort_by(|&a, &b| row[b].partial_cmp(&row[a]).unwrap().then(a.cmp(&b)));
    order
}

/// The token, and how near (as a share of a sum) another one was.
fn drawn(row: &[f64], order: &[usize], choice: &Choice) -> (i32, f64) {
    let Some(&best) = order.first() else {
        return (-1, 1.0);
    };
    if choice.temperature == 0.0 || row[best] == f64::NEG_INFINITY {
        return (best as i32, 1.0);
    }
    let weight = |i: usize| {
        if row[i] == row[best] {
            1.0
        } else {
            ((row[i] - row[best]) / f64::from(choice.temperature)).exp()
        }
    };
    let count = if choice.top_k > 0 {
        order.len().min(choice.top_k as usize)
    } else {
        order.len()
    };
    let mut kept: Vec<(usize, f64)> = order[..count].iter().map(|&i| (i, weight(i))).collect();
    let mut margin = 1.0_f64;
    if choice.top_p < 1.0 {
        let total: f64 = kept.iter().map(|k| k.1).sum();
        let wanted = f64::from(choice.top_p) * total;
        let (mut sum, mut n) = (0.0, 0);
        while n == 0 || sum < wanted && n < kept.len() {
            if n > 0 {
                margin = margin.min((wanted - sum) / total);
            }
            sum += kept[n].1;
            n += 1;
        }
        margin = margin.min((sum - wanted).abs() / total);
        kept.truncate(n);
    }
    let least = f64::from(choice.min_p);
    if least > 0.0 {
        for k in kept.iter().filter(|k| k.1 != 1.0) {
            margin = margin.min((k.1 / least - 1.0).abs());
        }
        kept.retain(|k| k.1 >= least);
    }
    kept.sort_by_key(|k| k.0);
    let sum: f64 = kept.iter().map(|k| k.1).sum();
    let mut reached = 0.0;
    for (i, weight) in kept {
        if reached > 0.0 {
            margin = margin.min((choice.uniform * sum - reached).abs() / sum);
        }
        reached += weight;
        if reached > choice.uniform * sum {
            return (i as i32, margin.min((reached - choice.uniform * sum) / sum));
        }
    }
    (-1, 0.0)
}

struct Draws {
    held: usize,
    unsure: usize,
}

impl ForEach for Draws {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        let mut random = Random(11);
        for width in VOCABULARIES {
            for ty in TYPES {
                let x = logits(ty, width, width as u64);
                let rows_of: Vec<Vec<f64>> = (0..COUNT)
                    .map(|t| (0..width).map(|d| x.get(t * (width + PAD) + d)).collect())
                    .collect();
                let orders: Vec<Vec<usize>> = rows_of.iter().map(|row| sorted(row)).collect();
                for temperature in [1.0, 0.0, 0.125, 3.0] {
                    for top_k in [0, 1, 40, 511, 513, 3000] {
                        for (top_p, min_p) in [
                            (1.0, 0.0),
                            (0.0, 0.0),
                            (0.9, 0.0),
                            (0.999, 0.01),
                            (1.0, 0.1),
                            (0.5, 1.0),
                        ] {
                            let uniform = f64::from(random.unit() + 1.0) / 2.0001;
                            let choice = |t: usize| Choice {
                                temperature,
                                top_k,
                                top_p,
                                min_p,
                                uniform: (uniform + 0.19 * t as f64).fract(),
                            };
                            let run = |cuts: &[Range<usize>]| {
                                let mut out = [i32::MIN; COUNT];
                                let args = SampleArgs {
                                    x: rows(&x, width),
                                    width,
                                    choice: &choice,
                                    out: out.as_mut_ptr(),
                                    out_stride: 1,
                                };
                                cuts.iter().for_each(|r| sample_on(s, &args, r.clone()));
                                out
                            };
                            let got = run(CUTS[0]);
                            assert_eq!(got, run(CUTS[1]), "{name}: rows depend on the range");
                            for t in 0..COUNT {
                                let (want, margin) = drawn(&rows_of[t], &orders[t], &choice(t));
                                if margin < 2e-5 {
                                    self.unsure += 1;
                                    continue;
                                }
                                self.held += 1;
                                assert_eq!(
                                    got[t],
                                    want,
                                    "{name}: {ty:?} row {t} of {width}, {:?}, margin {margin:e}",
                                    choice(t)
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn tokens_are_drawn_as_from_a_sorted_row() {
    let mut draws = Draws { held: 0, unsure: 0 };
    for_each(&mut draws);
    eprintln!(
        "{} draws, {} more too near another token",
        draws.held, draws.unsure
    );
    assert!(draws.held > 10_000 && draws.unsure < draws.held / 10);
}

struct Infinities;

impl ForEach for Infinities {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        // −∞ alone, NaN alone, two of +∞, zeros of both signs, NaN around one −∞.
        let width = 70;
        let x = source(ElemType::F32, width, |t, d| match t {
            0 => f32::NEG_INFINITY,
            1 => f32::NAN,
            2 if d == 9 || d == 66 => f32::INFINITY,
            3 => [0.0, -0.0][d % 2],
            4 if d == 65 => f32::NEG_INFINITY,
            4 => f32::NAN,
            _ => 1.0,
        });
        let mut greatest = [7; COUNT];
        let args = ArgmaxArgs {
            x: rows(&x, width),
            width,
            out: greatest.as_mut_ptr(),
            out_stride: 1,
        };
        argmax_on(s, &args, 0..COUNT);
        assert_eq!(greatest, [0, -1, 9, 0, 65], "{name}");
        for (uniform, top_k, want) in [
            (0.0, 0, [0, -1, 9, 0, 65]),
            (0.49, 0, [0, -1, 9, 34, 65]),
            (0.51, 0, [0, -1, 66, 35, 65]),
            (0.51, 1, [0, -1, 9, 0, 65]),
            (0.999_999, 0, [0, -1, 66, 69, 65]),
        ] {
            let choice = |_| Choice {
                temperature: 1.0,
                top_k,
                top_p: 1.0,
                min_p: 0.0,
                uniform,
            };
            let mut out = [7; COUNT];
            let args = SampleArgs {
                x: rows(&x, width),
                width,
                choice: &choice,
                out: out.as_mut_ptr(),
                out_stride: 1,
            };
            sample_on(s, &args, 0..COUNT);
            assert_eq!(out, want, "{name} {uniform} {top_k}");
        }
    }
}

#[test]
fn infinities_and_nan_have_the_stated_meaning() {
    for_each(&mut Infinities);
}

struct Greatest;

impl ForEach for Greatest {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for width in VOCABULARIES {
            for ty in TYPES {
                let x = logits(ty, width, 5 + width as u64);
                let mut out = [7; COUNT];
                let args = ArgmaxArgs {
                    x: rows(&x, width),
                    width,
                    out: out.as_mut_ptr(),
                    out_stride: 1,
                };
                argmax_on(s, &args, 0..COUNT);
                for (t, got) in out.into_iter().enumerate() {
                    let row: Vec<f64> = (0..width).map(|d| x.get(t * (width + PAD) + d)).collect();
                    let want = sorted(&row).first().map_or(-1, |&i| i as i32);
                    assert_eq!(got, want, "{name}: {ty:?} row {t} of {width}");
                }
            }
        }
    }
}

#[test]
fn the_greatest_element_is_found_in_any_block() {
    for_each(&mut Greatest);
}

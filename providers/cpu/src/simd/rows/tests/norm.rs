//! Norms and softmax.

use super::super::add_rms_norm::add_rms_norm_on;
use super::super::rms_norm::rms_norm_on;
use super::super::softmax::softmax_on;
use super::super::{AddRmsNormArgs, RmsNormArgs, SoftmaxArgs};
use super::*;
use crate::simd::lanes::Simd;
use crate::simd::tests_support::{ForEach, TYPES, for_each, rounding};

const EPS: f64 = 1e-5;

struct Norms;

impl ForEach for Norms {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for (width, x_type, weight_type) in WIDTHS
            .iter()
            .flat_map(|&w| TYPES.map(|x| TYPES.map(|y| (w, x, y))))
            .flatten()
        {
            let x = source(x_type, width, noise(4, 3.0));
            let weight = Memory::filled(weight_type, width, |d| (d % 5) as f32 / 4.0 - 0.5);
            let run = |x: Rows, out: RowsMut, cuts: &[Range<usize>]| {
                let args = RmsNormArgs {
                    x,
                    weight: Rows {
                        at: weight.as_ptr(),
                        ty: weight.ty,
                        stride: 1,
                    },
                    out,
                    width,
                    eps: EPS,
                    offset: 1.0,
                };
                let mut scratch = vec![f32::NAN; args.scratch_len()];
                for r in cuts {
                    rms_norm_on(s, &args, r.clone(), &mut scratch);
                }
            };
            let out = cut_both_ways(name, |cuts| {
                let mut out = target(x_type, width);
                run(rows(&x, width), rows_mut(&mut out, width), cuts);
                out
            });
            hold(&out, width, name, |t, d| {
                let row: Vec<f64> = (0..width).map(|d| x.get(t * (width + PAD) + d)).collect();
                let mean = row.iter().map(|v| v * v).sum::<f64>() / width as f64;
                let want = row[d] * (weight.get(d) + 1.0) / (mean + EPS).sqrt();
                (
                    want,
                    want.abs() * (1.01 * rounding(x_type) + 2f64.powi(-20)),
                )
            });
            let mut place = x.clone();
            run(rows(&x, width), rows_mut(&mut place, width), CUTS[0]);
            let mut own = x.clone();
            let out = rows_mut(&mut own, width);
            run(rows(&own, width), out, CUTS[0]);
            assert!(
                (0..COUNT * (width + PAD))
                    .all(|i| i % (width + PAD) >= width || own.get(i) == place.get(i)),
                "{name}: in place"
            );
        }
    }
}

#[test]
fn norms_of_all_types_and_tails() {
    for_each(&mut Norms);
}

struct Residuals;

impl ForEach for Residuals {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for (width, x_type, residual_type) in WIDTHS
            .iter()
            .flat_map(|&w| TYPES.map(|x| TYPES.map(|y| (w, x, y))))
            .flatten()
        {
            let x = source(x_type, width, noise(5, 3.0));
            let before = source(residual_type, width, noise(6, 2.0));
            let weight = Memory::filled(ElemType::Bf16, width, |d| (d % 7) as f32 / 4.0);
            let mut residual = before.clone();
            let out = cut_both_ways(name, |cuts| {
                residual = before.clone();
                let mut out = target(x_type, width);
                let args = AddRmsNormArgs {
                    x: rows(&x, width),
                    residual: rows_mut(&mut residual, width),
                    weight: Rows {
                        at: weight.as_ptr(),
                        ty: weight.ty,
                        stride: 1,
                    },
                    out: rows_mut(&mut out, width),
                    width,
                    eps: EPS,
                    offset: 0.0,
                };
                let mut scratch = vec![f32::NAN; args.scratch_len()];
                for r in cuts {
                    add_rms_norm_on(s, &args, r.clone(), &mut scratch);
                }
                out
            });
            let at = |t, d| t * (width + PAD) + d;
            hold(&residual, width, name, |t, d| {
                let want = x.get(at(t, d)) + before.get(at(t, d));
                let limit = want.abs() * 1.01 * (rounding(residual_type) + rounding(ElemType::F32));
                (want, limit)
            });
            // What is normalised is the residual as it is kept, to the bit.
            hold(&out, width, name, |t, d| {
                let row: Vec<f64> = (0..width).map(|d| residual.get(at(t, d))).collect();
                let mean = row.iter().map(|v| v * v).sum::<f64>() / width as f64;
                let want = row[d] * weight.get(d) / (mean + EPS).sqrt();
                (
                    want,
                    want.abs() * (1.01 * rounding(x_type) + 2f64.powi(-20)),
                )
            });
        }
    }
}

#[test]
fn residuals_are_normalised_as_they_are_kept() {
    for_each(&mut Residuals);
}

struct Shares;

impl ForEach for Shares {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for (width, x_type, out_type) in WIDTHS
            .iter()
            .chain(&[1023, 1024, 1025, 3000])
            .flat_map(|&w| TYPES.map(|x| TYPES.map(|y| (w, x, y))))
            .flatten()
        {
            let mut number = noise(7, 12.0);
            // The fourth row is −∞ alone, the fifth holds a NaN.
            let x = source(x_type, width, |t, d| match (t, d) {
                (3, _) => f32::NEG_INFINITY,
                (4, d) if d == width / 2 => f32::NAN,
                (2, d) if d % 3 == 1 => f32::NEG_INFINITY,
                _ => number(t, d),
            });
            let out = cut_both_ways(name, |cuts| {
                let mut out = target(out_type, width);
                let args = SoftmaxArgs {
                    x: rows(&x, width),
                    out: rows_mut(&mut out, width),
                    width,
                    scale: 0.5,
                };
                let mut scratch = vec![f32::NAN; args.scratch_len()];
                for r in cuts {
                    softmax_on(s, &args, r.clone(), &mut scratch);
                }
                out
            });
            let sums: Vec<(f64, f64)> = (0..COUNT)
                .map(|t| {
                    let row = || (0..width).map(|d| 0.5 * x.get(t * (width + PAD) + d));
                    let greatest = row().fold(f64::NEG_INFINITY, f64::max);
                    (greatest, row().map(|v| (v - greatest).exp()).sum())
                })
                .collect();
            hold(&out, width, name, |t, d| {
                if t == 3 {
                    return (0.0, 0.0);
                }
                let (greatest, sum) = sums[t];
                let want = (0.5 * x.get(t * (width + PAD) + d) - greatest).exp() / sum;
                let floor = if out_type == ElemType::F16 {
                    2f64.powi(-24)
                } else {
                    1e-37
                };
                (
                    want,
                    want * (1.01 * rounding(out_type) + 2f64.powi(-19)) + floor,
                )
            });
        }
    }
}

#[test]
fn shares_of_all_types_and_tails() {
    for_each(&mut Shares);
}

//! A residual sum and the normalisation of what it gives.
//!
//! `residual[t,d] += x[t,d]`, rounded to the residual's type; then, of that *rounded* residual r,
//! `out[t,d] = r[t,d] · (weight[d] + weight_offset) / sqrt(mean over d of r[t,d]² + eps)`. What a later layer reads as the
//! residual is what was normalised, to the bit.

mod fill;
mod geometries;
mod oracle;

use super::support::{no_rules, operand_bytes, output_dtype, touch_all, unit_roundoff};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance, Work};

/// The schema.
pub const SCHEMA: &str = "\
add_rms_norm.1(x: float[T,D], inout residual: float[T,D], weight: float[D]) -> out: like x[T,D];
  eps: f64, weight_offset: f64 = 0";

/// `add_rms_norm.1`.
pub static OP: Op = Op {
    name: "add_rms_norm.1",
    schema: SCHEMA,
    doc: "adds to the residual, and normalises the rounded sum",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: no_rules,
    float_rules: &[],
    work,
    rows: Rows::Along("T"),
    lengths: &[],
};

fn tolerance(call: &HostCall, output: usize) -> Tolerance {
    let dtype = output_dtype(call, output);
    if call.schema.operand("residual") == Some(output) {
        return Tolerance {
            absolute: 0.0,
            relative: 1.001 * (unit_roundoff(dtype) + 2f64.powi(-24)),
            floor: Tolerance::floor_of(dtype),
            reason: "one rounding of the sum in f32 (2^-24) and one to the residual's type (2^-24 f32, 2^-11 f16, 2^-8 bf16)",
        };
    }
    Tolerance {
        absolute: 0.0,
        relative: 1.01 * unit_roundoff(dtype) + 2f64.powi(-14),
        floor: Tolerance::floor_of(dtype),
        reason: "one rounding to the output type (2^-24 f32, 2^-11 f16, 2^-8 bf16), and 2^-14 for a sum of up to 16,384 squares \
                 in f32, as for rms_norm; the residuals that are filled in add without rounding in f32, so that every kernel \
                 normalises the same rounded numbers",
    }
}

/// The residual is read and written. A sum, a square and its sum, and two products.
fn work(call: &HostCall) -> Work {
    let elements = call.operand("x").map_or(0.0, |x| x.len() as f64);
    let mut work = touch_all(call, 5.0 * elements);
    work.bytes += operand_bytes(call, "residual");
    work
}

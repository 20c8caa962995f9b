//! Root-mean-square normalisation of rows.
//!
//! `out[t,d] = x[t,d] · (weight[d] + weight_offset) / sqrt(mean over d of x[t,d]² + eps)`. The mean is over the D elements of a
//! row. A row of zeros gives zeros when eps is above 0. An offset of 1 is Gemma's form, whose weights are stored as differences
//! from 1. `out` may be the memory of `x`.

mod fill;
mod geometries;
mod oracle;

use super::support::{no_rules, output_dtype, touch_all, unit_roundoff};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema.
pub const SCHEMA: &str = "\
rms_norm.1(x: float[T,D], weight: float[D]) -> out: like x[T,D] may_alias(x);
  eps: f64, weight_offset: f64 = 0";

/// `rms_norm.1`.
pub static OP: Op = Op {
    name: "rms_norm.1",
    schema: SCHEMA,
    doc: "each row divided by its root mean square, times a weight",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: no_rules,
    float_rules: &[],
    // A square and a sum, then two products.
    work: |call| {
        touch_all(
            call,
            4.0 * call.operands[0].as_ref().map_or(0.0, |x| x.len() as f64),
        )
    },
    rows: Rows::Along("T"),
    lengths: &[],
};

fn tolerance(call: &HostCall, output: usize) -> Tolerance {
    let dtype = output_dtype(call, output);
    Tolerance {
        absolute: 0.0,
        relative: 1.01 * unit_roundoff(dtype) + 2f64.powi(-14),
        floor: Tolerance::floor_of(dtype),
        reason: "one rounding to the output type (2^-24 f32, 2^-11 f16, 2^-8 bf16), and 2^-14 for a sum of up to 16,384 squares \
                 in f32: all terms are positive, so a running sum is off by at most 8,192 half-spacings of 2^-24 in the worst \
                 case and the root halves that; in practice by less than 2^-18",
    }
}

//! The clamped gated activation of GPT-OSS.
//!
//! With gate g and up u: `g' = min(g, limit)`, `u' = clamp(u, -limit, limit)`, and `out = (u' + 1) · g' · sigmoid(alpha · g')`. The
//! gate is clamped from above alone. In a row of `x` the gate is D wide and up stands behind it, D wide; when `interleaved` they
//! alternate, gate first. NaN stays NaN.

mod fill;
mod geometries;
mod oracle;

use super::support::{no_rules, output_dtype, touch_all, unit_roundoff};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema.
pub const SCHEMA: &str = "\
swiglu_clamped.1(x: float[T,D2]) -> out: like x[T,D];
  limit: f64 = 7, alpha: f64 = 1.702, interleaved: bool = false;
  where D = D2 / 2 exact";

/// `swiglu_clamped.1`.
pub static OP: Op = Op {
    name: "swiglu_clamped.1",
    schema: SCHEMA,
    doc: "clamped swish of the gate, times one more than the clamped other half",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: no_rules,
    float_rules: &[],
    // Three bounds, a product, exponential, sum and quotient, a sum and two products.
    work: |call| {
        touch_all(
            call,
            10.0 * call.operands[1]
                .as_ref()
                .map_or(0.0, |out| out.len() as f64),
        )
    },
    rows: Rows::Along("T"),
    lengths: &[],
};

fn tolerance(call: &HostCall, output: usize) -> Tolerance {
    let dtype = output_dtype(call, output);
    Tolerance {
        absolute: 2f64.powi(-22),
        relative: 1.01 * unit_roundoff(dtype) + 2f64.powi(-15),
        floor: Tolerance::floor_of(dtype),
        reason: "one rounding to the output type (2^-24 f32, 2^-11 f16, 2^-8 bf16), and 2^-15 for an exponential in f32 whose \
                 argument, of up to 88 where the result is a normal number, is a product of rounded factors (three times 2^-24); \
                 where up is near -1 its sum with 1 is exact but for the rounding of a limit to f32, which the share of the row covers",
    }
}

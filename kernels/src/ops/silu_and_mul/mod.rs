//! Gated activation: `out[t,d] = silu(x[t,d]) · x[t,D+d]` with `silu(g) = g / (1 + exp(-g))`.
//!
//! A row of `x` is the gate, D wide, and behind it what is gated, D wide.

mod fill;
mod geometries;
mod oracle;

use super::support::{no_rules, output_dtype, touch_all, unit_roundoff};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema.
pub const SCHEMA: &str = "\
silu_and_mul.1(x: float[T,D2]) -> out: like x[T,D];
  where D = D2 / 2 exact";

/// `silu_and_mul.1`.
pub static OP: Op = Op {
    name: "silu_and_mul.1",
    schema: SCHEMA,
    doc: "silu of the first half of each row, times its second half",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: no_rules,
    float_rules: &[],
    // Negation, exponential, sum, quotient and product, each counted as one.
    work: |call| {
        touch_all(
            call,
            5.0 * call.operands[1]
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
        absolute: 0.0,
        relative: 1.01 * unit_roundoff(dtype) + 2f64.powi(-19),
        floor: Tolerance::floor_of(dtype),
        reason: "one rounding to the output type (2^-24 f32, 2^-11 f16, 2^-8 bf16), and 2^-19 for an exponential of up to 16 \
                 spacings of error in f32, followed by a sum, a quotient and a product of one rounding each",
    }
}

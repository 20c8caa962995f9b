//! Gated activation: `out[t,d] = gelu(x[t,d]) · x[t,D+d]`.
//!
//! A row of `x` is the gate, D wide, and behind it what is gated, D wide. With `erf` gelu(g) is g·Φ(g), Φ being the normal
//! distribution's cumulative function; without, the form with a hyperbolic tangent, `g/2 · (1 + tanh(√(2/π)·(g + 0.044715·g³)))`,
//! which is the same as `g / (1 + exp(-2·√(2/π)·(g + 0.044715·g³)))` and does not cancel when written so.

mod fill;
mod geometries;
mod normal;
mod oracle;

use super::support::{no_rules, output_dtype, touch_all, unit_roundoff};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema.
pub const SCHEMA: &str = "\
gelu_and_mul.1(x: float[T,D2]) -> out: like x[T,D];
  erf: bool = false;
  where D = D2 / 2 exact";

/// `gelu_and_mul.1`.
pub static OP: Op = Op {
    name: "gelu_and_mul.1",
    schema: SCHEMA,
    doc: "gelu of the first half of each row, times its second half",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: no_rules,
    float_rules: &[],
    // A cubic polynomial, an exponential, a sum, a quotient and a product.
    work: |call| {
        touch_all(
            call,
            9.0 * call.operands[1]
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
        relative: 1.01 * unit_roundoff(dtype) + 2f64.powi(-15),
        floor: Tolerance::floor_of(dtype),
        reason: "one rounding to the output type (2^-24 f32, 2^-11 f16, 2^-8 bf16), and 2^-15 for an exponential in f32 whose \
                 argument, of up to 88 where the result is a normal number, has gone through four roundings of 2^-24, so that it \
                 is off by up to 88·2^-22",
    }
}

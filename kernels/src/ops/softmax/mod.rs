//! The softmax of each row: with `y = x[t,:] · scale` and m its greatest element, `out[t,d] = exp(y[d] - m) / Σ exp(y - m)`.
//!
//! A row of −∞ alone gives zeros, as a row of attention without keys does. A NaN makes its row NaN.

mod fill;
mod geometries;
mod oracle;

use super::support::{no_rules, output_dtype, touch_all, unit_roundoff};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema.
pub const SCHEMA: &str = "\
softmax.1(x: float[T,D]) -> out: float[T,D];
  scale: f64 = 1";

/// `softmax.1`.
pub static OP: Op = Op {
    name: "softmax.1",
    schema: SCHEMA,
    doc: "each row's exponentials as shares of their sum",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: no_rules,
    float_rules: &[],
    // A product, a comparison, a difference, an exponential, a sum and a product.
    work: |call| {
        touch_all(
            call,
            6.0 * call.operands[0].as_ref().map_or(0.0, |x| x.len() as f64),
        )
    },
    rows: Rows::Along("T"),
    lengths: &[],
};

fn tolerance(call: &HostCall, output: usize) -> Tolerance {
    let dtype = output_dtype(call, output);
    Tolerance {
        absolute: 0.0,
        relative: 1.01 * unit_roundoff(dtype) + 2f64.powi(-13),
        floor: Tolerance::floor_of(dtype),
        reason: "one rounding to the output type (2^-24 f32, 2^-11 f16, 2^-8 bf16); 2^-14 for an exponential in f32 whose \
                 argument is a difference of scaled elements of up to 200, each rounded twice to f32; and 2^-14 for a sum of up to \
                 some 200,000 exponentials in f32, in lanes and blocks",
    }
}

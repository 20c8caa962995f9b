//! Adds up what a token's experts gave: `out[t,d] = sum over s of weights[t,s] · x[t,s,d]`, plus `shared[t,d]` where it is given: the
//! output of experts that every token has. With S = 0 the sum is 0.

mod fill;
mod geometries;
mod oracle;

use super::support::{no_rules, output_dtype, symbol, touch_all, unit_roundoff};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema.
pub const SCHEMA: &str = "\
moe_combine.1(x: float[T,S,D], weights: f32[T,S], shared?: float[T,D]) -> out: float[T,D]";

/// `moe_combine.1`.
pub static OP: Op = Op {
    name: "moe_combine.1",
    schema: SCHEMA,
    doc: "the weighted sum of what a token's experts gave",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: no_rules,
    float_rules: &[],
    work: |call| {
        let terms = symbol(call, "T") as f64 * symbol(call, "S") as f64 * symbol(call, "D") as f64;
        touch_all(call, 2.0 * terms)
    },
    rows: Rows::Along("T"),
    lengths: &[],
};

fn tolerance(call: &HostCall, output: usize) -> Tolerance {
    let dtype = output_dtype(call, output);
    Tolerance {
        absolute: 2f64.powi(-19),
        relative: 1.01 * unit_roundoff(dtype) + 2f64.powi(-22),
        floor: Tolerance::floor_of(dtype),
        reason: "one rounding to the output type (2^-24 f32, 2^-11 f16, 2^-8 bf16); a sum in f32 of up to some tens of products, each of \
                 which rounds a partial sum by at most 2^-24 of it: together below 2^-21 of the row's root mean square where signs \
                 are random, and 2^-19 leaves a factor of four. A lost slot of 16 is a quarter of it",
    }
}

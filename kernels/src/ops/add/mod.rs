//! Elementwise sum: `out[t,d] = a[t,d] + b[t,d]`. `out` may be the memory of `a` or of `b`.

mod fill;
mod geometries;
mod oracle;

use super::support::{no_rules, output_dtype, touch_all, unit_roundoff};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema.
pub const SCHEMA: &str = "add.1(a: float[T,D], b: float[T,D]) -> out: like a[T,D] may_alias(a, b)";

/// `add.1`.
pub static OP: Op = Op {
    name: "add.1",
    schema: SCHEMA,
    doc: "elementwise sum",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: no_rules,
    float_rules: &[],
    work: |call| {
        touch_all(
            call,
            call.operands[0].as_ref().map_or(0.0, |a| a.len() as f64),
        )
    },
    rows: Rows::Along("T"),
    lengths: &[],
};

fn tolerance(call: &HostCall, output: usize) -> Tolerance {
    let dtype = output_dtype(call, output);
    Tolerance {
        absolute: 0.0,
        relative: 1.001 * (unit_roundoff(dtype) + 2f64.powi(-24)),
        floor: Tolerance::floor_of(dtype),
        reason: "one rounding of the sum in f32 (2^-24) and one to the output type (2^-24 f32, 2^-11 f16, 2^-8 bf16)",
    }
}

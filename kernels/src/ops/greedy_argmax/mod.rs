//! The place of each row's greatest element: the least index of those that are equal. A NaN never wins.
//!
//! −∞ is a number like any other here, so a row of −∞ alone gives 0. A row without a number (V is 0, or all are NaN) gives -1.

mod fill;
mod geometries;
mod oracle;

use super::support::{no_rules, touch_all};
use crate::dtype::I32;
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema.
pub const SCHEMA: &str = "greedy_argmax.1(logits: float[T,V]) -> out: i32[T]";

/// `greedy_argmax.1`.
pub static OP: Op = Op {
    name: "greedy_argmax.1",
    schema: SCHEMA,
    doc: "index of the greatest element of each row",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: no_rules,
    float_rules: &[],
    // A comparison for each element.
    work: |call| {
        touch_all(
            call,
            call.operands[0].as_ref().map_or(0.0, |x| x.len() as f64),
        )
    },
    rows: Rows::Along("T"),
    lengths: &[],
};

fn tolerance(_: &HostCall, _: usize) -> Tolerance {
    Tolerance {
        absolute: 0.0,
        relative: 0.0,
        floor: Tolerance::floor_of(I32),
        reason: "an index is right or wrong; the floor, far below 1, only keeps shares of it finite",
    }
}

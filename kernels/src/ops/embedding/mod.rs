//! Rows of a table: `out[t,:] = table[ids[t],:] · scale`.
//!
//! The table may be stored in any weight format; a row of a block format is decoded first. `out` has a type of its own.
//!
//! Contents: an id is at least 0 and below V.

mod contents;
mod fill;
mod geometries;
mod oracle;

use super::support::{bytes, operand_bytes, output_dtype, symbol, unit_roundoff};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance, Work};

/// The schema.
pub const SCHEMA: &str = "\
embedding.1(table: weight[V,D], ids: i32[T]) -> out: float[T,D];
  scale: f64 = 1";

/// `embedding.1`.
pub static OP: Op = Op {
    name: "embedding.1",
    schema: SCHEMA,
    doc: "rows of a table by number, times a scale",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: contents::check,
    float_rules: &[],
    work,
    rows: Rows::Along("T"),
    lengths: &[],
};

fn tolerance(call: &HostCall, output: usize) -> Tolerance {
    let dtype = output_dtype(call, output);
    Tolerance {
        absolute: 2f64.powi(-22),
        relative: 1.01 * unit_roundoff(dtype) + 2f64.powi(-22),
        floor: Tolerance::floor_of(dtype),
        reason: "one rounding to the output type (2^-24 f32, 2^-11 f16, 2^-8 bf16); before it, in f32, the scale and the product \
                 with it are rounded once each (2^-23 together), and so is an element of a block format that is the sum of a \
                 product and an offset, which may cancel (hence the share of the row)",
    }
}

/// Of the table only the rows that are asked for.
fn work(call: &HostCall) -> Work {
    let elements = (symbol(call, "T") * symbol(call, "D")) as u64;
    let table = call
        .operand("table")
        .map_or(0.0, |t| bytes(t.dtype, elements));
    Work {
        bytes: table + operand_bytes(call, "ids") + operand_bytes(call, "out"),
        flops: elements as f64,
    }
}

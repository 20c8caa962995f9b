//! Draws a token for each row.
//!
//! Row t, with the parameters of number t:
//!
//! 1. A NaN is never drawn. A row without a number (V is 0, or all are NaN) gives -1.
//! 2. `temperature` 0 gives the greatest element, the least index of those that are equal: as `greedy_argmax` does. So does, at any
//!    temperature, a row of −∞ alone, which has no distribution.
//! 3. Elements are ordered descending, equal ones by ascending index. `top_k` above 0 keeps the first so many.
//! 4. Their weights are `exp((x - max) / temperature)`, their probabilities shares of the kept weights' sum. (Where the greatest is
//!    +∞, those that equal it weigh 1 and all others 0.)
//! 5. `top_p` below 1 keeps of them the least number, at least one, from the front of the order, whose probabilities' sum reaches it.
//! 6. `min_p` above 0 keeps those whose probability is at least `min_p` times the greatest.
//! 7. With u the draw, the token is the first *in ascending order of index* of what is kept whose cumulative weight exceeds u times
//!    the kept weights' sum.
//!
//! The draw: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; 2011) with the key `seed`, its
//! low 32 bits first, and the counter `draw`, 64 bits in the first two words and 0 in the others. u is the first word of its
//! output divided by 2^32. So a token depends on its row, its seed and its draw, and on nothing else in the batch.
//!
//! Contents: `temperature` is finite and at least 0, `top_p` and `min_p` are finite, at least 0, and `min_p` at most 1.
//!
//! Answers are compared exactly, so [`Op::fill`](crate::op::Op::fill) makes problems whose answers no rounding decides: each boundary
//! is some 10^4 roundings of f32 away, except where elements are exactly equal.

mod contents;
mod distribution;
mod fill;
mod geometries;
mod oracle;
mod philox;

use super::support::touch_all;
use crate::dtype::I32;
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema.
pub const SCHEMA: &str = "\
sample.1(
  logits: float[T,V], temperature: f32[T], top_k: i32[T], top_p: f32[T], min_p: f32[T],
  seed: i64[T], draw: i64[T]) -> out: i32[T]";

/// `sample.1`.
pub static OP: Op = Op {
    name: "sample.1",
    schema: SCHEMA,
    doc: "draws a token of each row by temperature, top-k, top-p and min-p",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: contents::check,
    float_rules: &["temperature", "top_p", "min_p"],
    // A comparison, a product, an exponential and a sum for each element.
    work: |call| {
        touch_all(
            call,
            4.0 * call.operands[0].as_ref().map_or(0.0, |x| x.len() as f64),
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

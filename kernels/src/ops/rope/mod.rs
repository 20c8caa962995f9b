//! Rotary position embedding.
//!
//! A head's first 2F elements are F pairs; pair i is turned by the angle `positions[t] · inv_freq[i]`:
//! `(a, b)` becomes `(a·cos - b·sin, b·cos + a·sin)`, cosine and sine first multiplied by `amplitude`. The pair is elements i and
//! F + i (NeoX), or 2i and 2i + 1 when `interleaved`. The other D - 2F elements are copied. `out` may be the memory of `x`.
//!
//! Angles are taken as they are, however large: a position of 2^20 with a frequency of 1 turns by 2^20 radians. An angle that was
//! rounded to f32 would be off by more than the tolerance from some thousand positions on.
//!
//! Frequencies come from the caller, who computes them once for a model: [`inv_freq`] and [`amplitude`] do for the usual schemes.
//!
//! Contents: a position is at least 0, a frequency is finite, and 2F, the width that turns, is at most D.

mod contents;
mod fill;
mod frequencies;
mod geometries;
mod oracle;

pub use frequencies::{FrequencyError, Scaling, amplitude, inv_freq};

use super::support::{output_dtype, touch_all, unit_roundoff};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema. `passed` is negative where there are more frequencies than pairs: a problem that no kernel serves.
pub const SCHEMA: &str = "\
rope.1(x: float[T,H,D], positions: i32[T], inv_freq: f32[F]) -> out: like x[T,H,D] may_alias(x);
  interleaved: bool = false, amplitude: f64 = 1;
  where passed = D - 2 * F";

/// `rope.1`.
pub static OP: Op = Op {
    name: "rope.1",
    schema: SCHEMA,
    doc: "turns pairs of each head's elements by angles proportional to the position",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: contents::check,
    float_rules: &["inv_freq"],
    // Four products and two sums for a pair.
    work: |call| {
        touch_all(
            call,
            3.0 * call.operands[0].as_ref().map_or(0.0, |x| x.len() as f64),
        )
    },
    rows: Rows::Along("T"),
    lengths: &[],
};

fn tolerance(call: &HostCall, output: usize) -> Tolerance {
    let dtype = output_dtype(call, output);
    Tolerance {
        absolute: 2f64.powi(-18),
        relative: 1.01 * unit_roundoff(dtype),
        floor: Tolerance::floor_of(dtype),
        reason: "one rounding to the output type (2^-24 f32, 2^-11 f16, 2^-8 bf16); before it cosine and sine, their product with \
                 the amplitude, two products and a sum are rounded to f32, each by at most 2^-24 of a pair's length, 6·2^-24 in \
                 all, and a pair is at most some 10 times longer than the row's root mean square in what is filled in",
    }
}

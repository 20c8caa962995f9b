//! Chooses the experts of each token.
//!
//! Row t, with E experts of which S are wanted:
//!
//! 1. The score of an expert is the softmax of the row's logits, or with `sigmoid` the sigmoid of its own logit.
//! 2. Experts are chosen by score plus `bias`; their weight is the score alone.
//! 3. With `groups` above 1 the experts are cut into that many groups of neighbours. A group's score is the sum of its
//!    `group_score` greatest of score plus bias; only experts of the `top_groups` greatest groups are chosen from, of equal groups
//!    those of lower index.
//! 4. `experts[t,:]` are the S greatest, in descending order, equal ones by ascending index.
//! 5. `weights[t,:]` are their scores in the same order; with `renormalise` divided by their sum (a sum of 0 leaves them), and then
//!    times `scale`.
//!
//! So GPT-OSS, Qwen3 and Mixtral are softmax with `renormalise`, and DeepSeek V3 is sigmoid with a bias, groups, a `group_score` of 2,
//! `renormalise` and a scale.
//!
//! Contents: no logit is NaN or +∞, and each row with S above 0 has one above −∞; biases are finite. `groups` is at least 1 and divides
//! E, `top_groups` is 1 to `groups`, `group_score` 1 to the size of a group, and S no more than the experts of `top_groups` groups.
//!
//! Choices are compared exactly, so [`Op::fill`](crate::op::Op::fill) makes problems in which no rounding decides: wherever two
//! experts or groups are compared and the choice depends on it, they are either equal in logit and bias, or some hundred
//! roundings of f32 apart.

mod contents;
mod fill;
mod geometries;
mod oracle;
mod problem;

use super::support::{output_dtype, symbol, touch_all};
use crate::dtype::F32;
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema.
pub const SCHEMA: &str = "\
moe_router_topk.1(logits: float[T,E], bias?: f32[E]) -> weights: f32[T,S], experts: i32[T,S];
  sigmoid: bool = false, groups: i64 = 1, top_groups: i64 = 1, group_score: i64 = 1, renormalise: bool = false, scale: f64 = 1";

/// `moe_router_topk.1`.
pub static OP: Op = Op {
    name: "moe_router_topk.1",
    schema: SCHEMA,
    doc: "chooses the experts of each token, and their weights",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: contents::check,
    float_rules: &["bias", "logits"],
    // An exponential, a sum, a product and a comparison for each logit.
    work: |call| {
        touch_all(
            call,
            4.0 * symbol(call, "T") as f64 * symbol(call, "E") as f64,
        )
    },
    rows: Rows::Along("T"),
    lengths: &[],
};

fn tolerance(call: &HostCall, output: usize) -> Tolerance {
    let dtype = output_dtype(call, output);
    if dtype == F32 {
        return Tolerance {
            absolute: 2f64.powi(-20),
            relative: 2f64.powi(-18),
            floor: Tolerance::floor_of(F32),
            reason: "an exponential in f32 of a difference of up to 32, which rounds by 2^-20 at most and so changes it by as much, two \
                     ulps of its own, and a sum of up to some hundred of them: together about 2^-19 of the weight; 2^-18 leaves a \
                     factor of two, and the rest of the row as much again for small weights",
        };
    }
    Tolerance {
        absolute: 0.0,
        relative: 0.0,
        floor: Tolerance::floor_of(dtype),
        reason: "an index is right or wrong; the floor, far below 1, only keeps shares of it finite",
    }
}

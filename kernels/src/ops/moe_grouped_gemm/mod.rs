//! The product of each token's row with the weights of each expert that was chosen for it:
//! `out[t,s,n] = sum over k of a[t,s,k] · b[e,n,k]` plus `bias[e,n]` where it is given, with `e = experts[t,s]`.
//!
//! `b`, `b_scale` and `int8_activations` are as in `matmul_bt.1`, for each expert. A negative number in `experts` stands for no
//! expert, and gives zeros, bias or not. `a` may have a stride of 0 along S, so that one row serves all chosen experts.
//!
//! Contents: a number in `experts` is negative or below E. One may stand twice in a row.

mod contents;
mod fill;
mod geometries;
mod oracle;

use super::support::{View, bytes, operand_bytes, symbol};
use crate::host::HostCall;
use crate::op::{Op, Rows, Work};

/// The schema.
pub const SCHEMA: &str = "\
moe_grouped_gemm.1(
  a: float[T,S,K], b: weight[E,N,K], experts: i32[T,S],
  b_scale?: f32[E,ceil(N / scale_rows),ceil(K / scale_depth)], bias?: float[E,N]) -> out: float[T,S,N];
  scale_rows: i64 = 1, scale_depth: i64 = 128, int8_activations: bool = false";

/// `moe_grouped_gemm.1`.
pub static OP: Op = Op {
    name: "moe_grouped_gemm.1",
    schema: SCHEMA,
    doc: "products of rows with the weights of the experts chosen for them",
    oracle: oracle::oracle,
    tolerance: super::matmul_bt::tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: contents::check,
    float_rules: &[],
    work,
    rows: Rows::Along("T"),
    lengths: &[],
};

/// Weights, scales and biases of the experts that occur, once each; of `a` what is there once.
fn work(call: &HostCall) -> Work {
    let (experts, rows, depth) = (symbol(call, "E"), symbol(call, "N"), symbol(call, "K"));
    let chosen = View::of(call, "experts");
    let mut used = vec![false; experts.max(0) as usize];
    let mut products = 0u64;
    for t in 0..symbol(call, "T") {
        for s in 0..symbol(call, "S") {
            if let Some(used) = usize::try_from(chosen.integer(&[t, s]))
                .ok()
                .and_then(|e| used.get_mut(e))
            {
                *used = true;
                products += 1;
            }
        }
    }
    let share = used.iter().filter(|u| **u).count() as f64 / used.len().max(1) as f64;
    let weights: f64 = ["b", "b_scale", "bias"]
        .into_iter()
        .map(|name| operand_bytes(call, name))
        .sum();
    let a = call.operand("a").map_or(0.0, |a| {
        let repeats = a.strides.get(1) == Some(&0) && a.shape[1] > 1;
        let shown = if repeats { a.shape[1] as u64 } else { 1 };
        bytes(a.dtype, a.len() / shown)
    });
    Work {
        bytes: share * weights + a + operand_bytes(call, "experts") + operand_bytes(call, "out"),
        flops: 2.0 * products as f64 * rows as f64 * depth as f64,
    }
}

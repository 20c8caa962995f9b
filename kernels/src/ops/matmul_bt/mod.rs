//! Matrix product with a transposed right side: `out[m,n] = sum over k of a[m,k] · b[n,k]`, plus `bias[n]` where it is given.
//!
//! This is a linear layer: rows of `b` are output features, as models store them. With K = 0 the sum is 0.

mod fill;
mod geometries;
mod oracle;

use super::support::{no_rules, output_dtype, symbol, touch_all, unit_roundoff};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema.
pub const SCHEMA: &str =
    "matmul_bt.1(a: float[M,K], b: weight[N,K], bias?: float[N]) -> out: float[M,N]";

/// `matmul_bt.1`.
pub static OP: Op = Op {
    name: "matmul_bt.1",
    schema: SCHEMA,
    doc: "product of a matrix with a transposed weight, and a bias",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: no_rules,
    work: |call| {
        let product =
            symbol(call, "M") as f64 * symbol(call, "N") as f64 * symbol(call, "K") as f64;
        touch_all(call, 2.0 * product)
    },
    rows: Rows::Along("M"),
    lengths: &[],
};

fn tolerance(call: &HostCall, output: usize) -> Tolerance {
    let dtype = output_dtype(call, output);
    Tolerance {
        absolute: 2f64.powi(-15),
        relative: 1.01 * unit_roundoff(dtype) + 2f64.powi(-18),
        floor: Tolerance::floor_of(dtype),
        reason: "one rounding to the output type (2^-24 f32, 2^-11 f16, 2^-8 bf16); inputs are exact in f32, and each of K sums \
                 rounds a partial sum by at most 2^-24 of it: for terms of random sign about sqrt(K)·2^-24 of the row's root \
                 mean square, 2^-17 at K = 16,384, and 2^-15 leaves a factor of four. A lost term of such a sum is 2^-7 of it",
    }
}

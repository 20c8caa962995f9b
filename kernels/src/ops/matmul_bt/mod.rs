//! Matrix product with a transposed right side: `out[m,n] = sum over k of a[m,k] · b[n,k]`, plus `bias[n]` where it is given.
//!
//! This is a linear layer: rows of `b` are output features, as models store them. With K = 0 the sum is 0.
//!
//! * **Weights.** `b` may be of a narrow type or a block format. What is multiplied is the decoded element, times
//!   `b_scale[n / scale_rows, k / scale_depth]` where scales are given: one for each row with `scale_rows` 1 and `scale_depth` K,
//!   one for each block of 128 by 128 with both 128. The last block of either direction may be shorter. Block formats have
//!   rows of whole blocks; the last stride is 1 and the others are whole blocks.
//! * **`int8_activations`.** Each row of `a` is first rounded in blocks of 32 columns, the last one maybe shorter, and it is
//!   said exactly how, so that products of integers are exact. In f32: `amax` is the greatest magnitude of the block,
//!   `id = 127 / amax` (0 where `amax` is 0), `q = x · id` rounded to an integer, ties to even, and `d = amax / 127`. The value
//!   that is multiplied is `q · d`. Without it activations are used as they are.

mod fill;
mod geometries;
mod oracle;
mod rounded;

pub(crate) use fill::{centre, fill_activations, fill_scales, fill_weight};
pub(crate) use oracle::Weights;
pub(crate) use rounded::activations;

use super::support::{no_rules, output_dtype, symbol, touch_all, unit_roundoff};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema.
pub const SCHEMA: &str = "\
matmul_bt.1(
  a: float[M,K], b: weight[N,K], b_scale?: f32[ceil(N / scale_rows),ceil(K / scale_depth)], bias?: float[N]) -> out: float[M,N];
  scale_rows: i64 = 1, scale_depth: i64 = 128, int8_activations: bool = false";

/// `matmul_bt.1`.
pub static OP: Op = Op {
    name: "matmul_bt.1",
    schema: SCHEMA,
    doc: "product of a matrix with a transposed weight of any format, and a bias",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: no_rules,
    float_rules: &[],
    work: |call| {
        let product =
            symbol(call, "M") as f64 * symbol(call, "N") as f64 * symbol(call, "K") as f64;
        touch_all(call, 2.0 * product)
    },
    rows: Rows::Along("M"),
    lengths: &[],
};

/// The tolerance of products, whatever the weight's format.
pub(crate) fn tolerance(call: &HostCall, output: usize) -> Tolerance {
    let dtype = output_dtype(call, output);
    Tolerance {
        absolute: 2f64.powi(-15),
        relative: 1.01 * unit_roundoff(dtype) + 2f64.powi(-18),
        floor: Tolerance::floor_of(dtype),
        reason: "one rounding to the output type (2^-24 f32, 2^-11 f16, 2^-8 bf16); inputs are exact in f32 but for a scale's one \
                 rounding, and each of K sums rounds a partial sum by at most 2^-24 of it: for terms of random sign about \
                 sqrt(K)·2^-24 of the row's root mean square, 2^-17 at K = 16,384, twice that where a format's minimum is \
                 subtracted, and 2^-15 leaves a factor of two to four. Rounded activations are defined exactly, so they add nothing. \
                 A lost term of such a sum is 2^-7 of it, a code of q8_0 off by one 2^-14 of a sum at K = 16,384",
    }
}

//! Where kernels are verified.

use crate::dtype::{BF16, F32, I8, Shown};
use crate::op::Geometry;
use crate::schema::AttrValue;

/// Around the groups of four and the vectors that kernels keep in registers.
const OUTPUTS: [i64; 9] = [64, 1, 0, 7, 8, 9, 65, 200, 1025];
const STEPS: [i64; 4] = [5, 1, 0, 1000];

pub(super) fn geometries() -> Vec<Geometry> {
    let mut out = Vec::new();
    for dtype in [F32, BF16, I8] {
        for (i, outputs) in OUTPUTS.into_iter().enumerate() {
            let steps = STEPS[i % STEPS.len()];
            out.push(
                Geometry::named(format!("g{outputs}_steps{steps}_{}", Shown(dtype)))
                    .symbols(&[("G", outputs)])
                    .dtypes(&[("a", dtype)])
                    .attr("steps", AttrValue::I64(steps)),
            );
        }
    }
    out
}

//! The whole schema: a block takes four rows and two columns, and goes along the depth in runs of eight.

use super::problem::{Product, workspace};
use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses};
use crate::ops::weights;
use crate::shaders::{MATMUL_BT_PORTABLE as SHADER, MATMUL_BT_ROUNDED as ROUNDED};
use overt_kernels::ops::matmul_bt::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/matmul_bt/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "every format; a block of 64 takes four rows and two columns, sums in f32",
    handles: ["b_scale", "bias", "scale_rows", "scale_depth", "int8_activations"],
    images: [SHADER.image.id, ROUNDED.image.id],
    entries: [SHADER.symbol, ROUNDED.symbol],
    needs: clauses(&["a", "out", "bias"]),
    needs: weights::clauses("b"),
    needs: weights::scale_clauses(),
    needs: [
        fact("device.subgroup.arithmetic").is(true).source("sums over subgroups"),
        fact("device.limit.shared_bytes").at_least(i64::from(SHARED)).source("a sum for each subgroup and output"),
    ],
    numeric_class: "vulkan.matmul_bt.portable",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&SHADER, &ROUNDED]).workspace(workspace);

/// Invocations of a block. The shader has room for the subgroups of no more.
const BLOCK: u32 = 64;
/// Rows and columns of a block, as the shader has them.
const LINES: i64 = 4;
const COLUMNS: i64 = 2;
/// Bytes of shared memory: a sum for each output of the block and each of 16 subgroups.
const SHARED: u32 = 16 * 4 * (LINES * COLUMNS) as u32;

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let Some(product) = Product::of(problem.call)? else {
        return Ok(Vec::new());
    };
    let [a, b, out, bias] = product.types()?;
    let up = |count: i64, by: i64| (count + by - 1).div_euclid(by);
    let dispatch = Dispatch::new(&SHADER, BLOCK)
        .constants(&[a, b, out, bias, u32::from(product.scale.is_some())])
        .shared(SHARED);
    let dispatch = product.words(dispatch)?.blocks(
        up(product.rows, LINES) * up(product.columns, COLUMNS),
        problem.limits.groups,
    )?;
    product.launches(problem, dispatch)
}

//! Eight neighbours of a row an invocation, expert after expert.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses, dtype_code, offsets};
use crate::ops::rows;
use crate::shaders::MOE_COMBINE;
use overt_kernels::ops::moe_combine::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/moe_combine/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "eight neighbours of a row an invocation, sums in f32",
    handles: ["shared"],
    images: [MOE_COMBINE.image.id],
    entries: [MOE_COMBINE.symbol],
    needs: clauses(&["x", "weights", "shared", "out"]),
    numeric_class: "vulkan.moe_combine",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&MOE_COMBINE]);

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (x, weights) = (call.operand(0)?, call.operand(1)?);
    let (shared, out) = (call.optional(2)?, call.operand(3)?);
    let (rows, columns) = (out.dim(0)?, out.dim(1)?);
    if rows * columns == 0 {
        return Ok(Vec::new());
    }
    let strides = offsets(&x)?;
    let (kind, stride) = match &shared {
        Some(shared) => (dtype_code(shared.dtype())?, offsets(shared)?[0]),
        None => (0, 0),
    };
    let dispatch = Dispatch::new(&MOE_COMBINE, rows::BLOCK)
        .constants(&[dtype_code(x.dtype())?, kind, dtype_code(out.dtype())?])
        .operand(0)
        .operand(1)
        .operand(2)
        .operand(3)
        .u32(rows as u32)
        .u32(x.dim(1)? as u32)
        .u32(columns as u32)
        .u32(strides[0])
        .u32(strides[1])
        .u32(offsets(&weights)?[0])
        .u32(stride)
        .u32(offsets(&out)?[0])
        .blocks(
            rows::blocks(rows * rows::chunks(columns), rows::BLOCK),
            problem.limits.groups,
        )?;
    Ok(vec![dispatch])
}

//! A block a token: scores in shared memory, and each expert's place by counting those before it.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses, dtype_code, offsets};
use crate::shaders::MOE_ROUTER_TOPK as SHADER;
use overt_kernels::ops::moe_router_topk::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/moe_router_topk/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "a block of 128 a token; places of experts and of groups by counting, scores in f32",
    handles: ["bias", "sigmoid", "groups", "top_groups", "group_score", "renormalise", "scale"],
    images: [SHADER.image.id],
    entries: [SHADER.symbol],
    needs: clauses(&["logits", "bias", "weights", "experts"]),
    needs: [
        fact("E").at_most(EXPERTS).source("20 bytes of shared memory for each"),
        fact("device.limit.shared_bytes").at_least(20 * EXPERTS + 1024).source("what the most experts take"),
        fact("device.subgroup.arithmetic").is(true).source("maxima and sums over a block"),
    ],
    numeric_class: "vulkan.moe_router_topk",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&SHADER]);

/// Invocations of a block, as the shader has it.
const BLOCK: u32 = 128;
/// Experts at most: twice what any known model has.
const EXPERTS: i64 = 1024;

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (logits, weights, experts) = (call.operand(0)?, call.operand(2)?, call.operand(3)?);
    let (rows, count) = (logits.dim(0)?, logits.dim(1)?);
    let wanted = weights.dim(1)?;
    if rows * wanted == 0 {
        return Ok(Vec::new());
    }
    // Rules on the attributes hold them to these ranges; what breaks them has to be a wrong answer and no fault of the device.
    let groups = call.attr_i64(1)?.clamp(1, count.max(1));
    let size = count.div_euclid(groups).max(1);
    let dispatch = Dispatch::new(&SHADER, BLOCK)
        .constants(&[
            dtype_code(logits.dtype())?,
            count.max(1) as u32,
            groups as u32,
            call.attr_i64(2)?.clamp(1, groups) as u32,
            call.attr_i64(3)?.clamp(1, size) as u32,
            u32::from(call.attr_bool(0)?),
            u32::from(call.attr_bool(4)?),
        ])
        .shared((12 * count.max(1) + 8 * groups) as u32 + 1024)
        .operand(0)
        .operand(1)
        .operand(2)
        .operand(3)
        .u32(rows as u32)
        .u32(wanted as u32)
        .u32(offsets(&logits)?[0])
        .u32(offsets(&weights)?[0])
        .u32(offsets(&experts)?[0])
        .f32(call.attr_f64(5)?)
        .blocks(rows, problem.limits.groups)?;
    Ok(vec![dispatch])
}

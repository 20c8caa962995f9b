//! Fused multiply-adds of f32, four sums an invocation.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses, offsets};
use crate::ops::rows;
use crate::shaders::ARITHMETIC_PROBE;
use overt_kernels::ops::arithmetic_probe::OP;
use overt_sdk::{Error, Result};

overt_sdk::kernel! {
    id: "vulkan/arithmetic_probe/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "fused multiply-adds of f32, four sums an invocation",
    handles: ["steps"],
    images: [ARITHMETIC_PROBE.image.id],
    entries: [ARITHMETIC_PROBE.symbol],
    needs: clauses(&["a", "b", "out"]),
    needs: [
        fact("a.dtype").is(F32).source("the type of the multiply-adds"),
        fact("attr.steps").below(1_i64 << 32).source("passes are counted in 32 bits"),
    ],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&ARITHMETIC_PROBE]);

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (a, b, out) = (call.operand(0)?, call.operand(1)?, call.operand(2)?);
    let outputs = out.dim(0)?;
    if outputs == 0 {
        return Ok(Vec::new());
    }
    let steps = call.attr_i64(0)?;
    let steps = u32::try_from(steps)
        .map_err(|_| Error::invalid(format!("attribute `steps` is {steps}; wanted 0 or more")))?;
    let dispatch = Dispatch::new(&ARITHMETIC_PROBE, rows::BLOCK)
        .operand(0)
        .operand(1)
        .operand(2)
        .u32(outputs as u32)
        .u32(steps)
        .u32(offsets(&a)?[0])
        .u32(offsets(&b)?[0])
        .u32(offsets(&out)?[0])
        .blocks(rows::blocks(outputs, rows::BLOCK), problem.limits.groups)?;
    Ok(vec![dispatch])
}

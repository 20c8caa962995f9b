//! Both forms, eight outputs an invocation.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses};
use crate::ops::gated;
use crate::shaders::GELU_AND_MUL;
use overt_kernels::ops::gelu_and_mul::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/gelu_and_mul/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "eight neighbours of a row an invocation",
    handles: ["erf"],
    images: [GELU_AND_MUL.image.id],
    entries: [GELU_AND_MUL.symbol],
    needs: clauses(&["x", "out"]),
    numeric_class: "vulkan.gelu_and_mul",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&GELU_AND_MUL]);

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let erf = problem.call.attr_bool(0)?;
    gated::plan(problem, &GELU_AND_MUL, &[0, u32::from(erf)], &[])
}

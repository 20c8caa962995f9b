//! Any float types, eight outputs an invocation.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses};
use crate::ops::gated;
use crate::shaders::SILU_AND_MUL;
use overt_kernels::ops::silu_and_mul::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/silu_and_mul/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "eight neighbours of a row an invocation",
    images: [SILU_AND_MUL.image.id],
    entries: [SILU_AND_MUL.symbol],
    needs: clauses(&["x", "out"]),
    numeric_class: "vulkan.silu_and_mul",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&SILU_AND_MUL]);

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    gated::plan(problem, &SILU_AND_MUL, &[0], &[])
}

//! Halves or alternating elements, eight outputs an invocation.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses};
use crate::ops::gated;
use crate::shaders::SWIGLU_CLAMPED;
use overt_kernels::ops::swiglu_clamped::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/swiglu_clamped/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "eight neighbours of a row an invocation",
    handles: ["limit", "alpha", "interleaved"],
    images: [SWIGLU_CLAMPED.image.id],
    entries: [SWIGLU_CLAMPED.symbol],
    needs: clauses(&["x", "out"]),
    numeric_class: "vulkan.swiglu_clamped",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&SWIGLU_CLAMPED]);

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let interleaved = u32::from(call.attr_bool(2)?);
    let parameters = [call.attr_f64(0)?, call.attr_f64(1)?];
    gated::plan(problem, &SWIGLU_CLAMPED, &[interleaved], &parameters)
}

//! A block a row, which goes over the row some times instead of sorting it.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses, dtype_code, offsets};
use crate::shaders::SAMPLE as SHADER;
use overt_kernels::ops::sample::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/sample/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "a block of 256 a row; bounds of top-k and top-p found digit by digit in f32 sums, the draw by stretches in order of index",
    images: [SHADER.image.id],
    entries: [SHADER.symbol],
    needs: clauses(&["logits", "temperature", "top_k", "top_p", "min_p", "seed", "draw"]),
    needs: [
        fact("V").at_most(1_i64 << 24).source("counts and indices are whole numbers that an f32 holds"),
        fact("out.align").at_least(4).source("shaders write words"),
        fact("out.max_offset").below(1_i64 << 31).source("shaders count elements in 32 bits"),
        fact("device.subgroup.arithmetic").is(true).source("maxima and sums over a block"),
        fact("device.limit.invocations").at_least(i64::from(BLOCK)).source("a block's size"),
    ],
    numeric_class: "vulkan.sample",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&SHADER]);

/// Invocations of a block, as the shader has it.
const BLOCK: u32 = 256;

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (logits, out) = (call.operand(0)?, call.operand(7)?);
    let (rows, columns) = (logits.dim(0)?, logits.dim(1)?);
    if rows == 0 {
        return Ok(Vec::new());
    }
    let dispatch = Dispatch::new(&SHADER, BLOCK)
        .constants(&[dtype_code(logits.dtype())?])
        // Counts and sums of each invocation, and what reductions need.
        .shared(8 * BLOCK + 1024);
    let dispatch = (0..8).fold(dispatch, Dispatch::operand);
    let dispatch = dispatch
        .u32(rows as u32)
        .u32(columns as u32)
        .u32(offsets(&logits)?[0])
        .u32(offsets(&out)?[0])
        .blocks(rows, problem.limits.groups)?;
    Ok(vec![dispatch])
}

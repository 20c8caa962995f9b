//! The whole schema: a block takes one query row and head, and its keys in tiles of a key an invocation.
//!
//! What changes from step to step is given at launch. Widths, types, the page's size and the caches' strides are constants of the shader.

use super::problem::{
    BLOCK_TABLE, Call, K_CACHE, OUT, QUERY, QUERY_START, SEQ_LENS, SINKS, V_CACHE, needs,
};
use crate::kernel::{Dispatch, Problem, VulkanKernel};
use crate::shaders::PAGED_ATTENTION_PORTABLE as SHADER;
use overt_kernels::ops::paged_attention::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/paged_attention/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "a block of 128 a query row and head; keys in tiles of 128, each read once, softmax and sums in f32",
    handles: ["causal", "window", "softcap", "sinks", "k_scale", "v_scale"],
    images: [SHADER.image.id],
    entries: [SHADER.symbol],
    needs: needs(),
    needs: [
        fact("D").at_most(1024).source("a query row lies in shared memory: 4 KiB of the 16 that every device has"),
        fact("Dv").at_most(512).source("four elements of a value for each of 128 invocations"),
        fact("device.subgroup.arithmetic").is(true).source("maxima and sums over a block"),
    ],
    numeric_class: "vulkan.paged_attention.portable",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&SHADER]);

/// Invocations of a block, as the shader has it.
const BLOCK: u32 = 128;

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let Some(call) = Call::of(problem.call)? else {
        return Ok(Vec::new());
    };
    let mut constants = call.types.codes()?.to_vec();
    constants.extend([
        call.width,
        call.value_width,
        call.page,
        call.ratio,
        u32::from(call.causal),
    ]);
    constants.extend(call.k_strides);
    constants.extend(call.v_strides);
    let dispatch = Dispatch::new(&SHADER, BLOCK)
        .constants(&constants)
        .shared(shared_bytes(&call))
        .operand(QUERY)
        .operand(K_CACHE)
        .operand(V_CACHE)
        .operand(BLOCK_TABLE)
        .operand(SEQ_LENS)
        .operand(QUERY_START)
        .operand(SINKS)
        .operand(OUT)
        .u32(call.rows as u32)
        .u32(call.heads as u32)
        .u32(call.requests as u32)
        .u32(call.table[0])
        .u32(call.table[1])
        .u32(call.query[0])
        .u32(call.query[1])
        .u32(call.to[0])
        .u32(call.to[1])
        .f32(call.scale)
        .f32(call.value_scale)
        .f32(call.softcap)
        .i32(call.window)
        .blocks(call.rows * call.heads, problem.limits.groups)?;
    Ok(vec![dispatch])
}

/// The query row, weights and pages of a tile, sums of values by set, the result, and what reductions need.
fn shared_bytes(call: &Call) -> u32 {
    16 * (call.width / 4 + 1) + (4 + 4 + 16) * BLOCK + 4 * (call.value_width + 4) + 1024
}

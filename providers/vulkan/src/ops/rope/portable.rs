//! Two pairs of some heads an invocation; angles in whole numbers, exact at any position.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses, dtype_code, offsets};
use crate::ops::rows;
use crate::shaders::ROPE;
use overt_kernels::ops::rope::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/rope/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "two pairs of four heads an invocation; angles reduced in whole numbers",
    handles: ["interleaved", "amplitude"],
    images: [ROPE.image.id],
    entries: [ROPE.symbol],
    needs: clauses(&["x", "inv_freq", "out"]),
    needs: [
        fact("positions.align").at_least(4).source("shaders read words"),
        fact("positions.max_offset").below(1_i64 << 31).source("shaders count elements in 32 bits"),
        fact("passed").at_least(0).source("two elements for each frequency"),
    ],
    numeric_class: "vulkan.rope",
    flags: CAPTURE_SAFE | DETERMINISTIC | IN_PLACE,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&ROPE]);

/// Heads of an invocation: an angle costs as much as some dozen loads, and the loads of four heads are in flight together.
const HEADS: i64 = 4;

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (x, positions) = (call.operand(0)?, call.operand(1)?);
    let (frequencies, out) = (call.operand(2)?, call.operand(3)?);
    let (rows, heads, columns) = (x.dim(0)?, x.dim(1)?, x.dim(2)?);
    let pairs = frequencies.dim(0)?;
    if rows * heads * columns == 0 {
        return Ok(Vec::new());
    }
    let units = rows::blocks(pairs, 2) + rows::chunks(columns - 2 * pairs);
    let invocations = rows * rows::blocks(heads, HEADS as u32) * units;
    let (strides, to) = (offsets(&x)?, offsets(&out)?);
    let dispatch = Dispatch::new(&ROPE, rows::BLOCK)
        .constants(&[
            dtype_code(x.dtype())?,
            u32::from(call.attr_bool(0)?),
            HEADS as u32,
        ])
        .operand(0)
        .operand(1)
        .operand(2)
        .operand(3)
        .u32(rows as u32)
        .u32(heads as u32)
        .u32(columns as u32)
        .u32(pairs as u32)
        .u32(strides[0])
        .u32(strides[1])
        .u32(to[0])
        .u32(to[1])
        .u32(offsets(&positions)?[0])
        .f32(call.attr_f64(1)?)
        .blocks(
            rows::blocks(invocations, rows::BLOCK),
            problem.limits.groups,
        )?;
    Ok(vec![dispatch])
}

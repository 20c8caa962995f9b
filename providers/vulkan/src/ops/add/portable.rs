//! The sum of any float types, a pair of neighbours an invocation.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses, dtype_code, offsets};
use crate::shaders::ADD;
use overt_kernels::ops::add::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/add/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "two neighbours of a row an invocation",
    images: [ADD.image.id],
    entries: [ADD.symbol],
    needs: clauses(&["a", "b", "out"]),
    numeric_class: "vulkan.add",
    flags: CAPTURE_SAFE | DETERMINISTIC | IN_PLACE,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&ADD]);

const BLOCK: u32 = 128;

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (a, b, out) = (call.operand(0)?, call.operand(1)?, call.operand(2)?);
    let (rows, columns) = (out.dim(0)?, out.dim(1)?);
    if rows * columns == 0 {
        return Ok(Vec::new());
    }
    // A row that begins in the middle of a word has a half pair at both ends.
    let pairs = columns / 2 + 1;
    let blocks = (rows * pairs).div_euclid(i64::from(BLOCK)) + 1;
    let dispatch = Dispatch::new(&ADD, BLOCK)
        .constants(&[
            dtype_code(a.dtype())?,
            dtype_code(b.dtype())?,
            dtype_code(out.dtype())?,
        ])
        .operand(0)
        .operand(1)
        .operand(2)
        .u32(rows as u32)
        .u32(columns as u32)
        .u32(offsets(&a)?[0])
        .u32(offsets(&b)?[0])
        .u32(offsets(&out)?[0])
        .u32(pairs as u32)
        .blocks(blocks, problem.limits.groups)?;
    Ok(vec![dispatch])
}

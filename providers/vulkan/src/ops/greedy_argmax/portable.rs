//! A wide row in parts, a block for each, whose findings are joined by a second launch; other rows a block each.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses, dtype_code, offsets};
use crate::shaders::{GREEDY_ARGMAX_JOINED, GREEDY_ARGMAX_PARTS, GREEDY_ARGMAX_ROWS};
use overt_kernels::ops::greedy_argmax::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/greedy_argmax/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "compares whole numbers in the order of the floats; wide rows in parts",
    images: [GREEDY_ARGMAX_ROWS.image.id, GREEDY_ARGMAX_PARTS.image.id, GREEDY_ARGMAX_JOINED.image.id],
    entries: [GREEDY_ARGMAX_ROWS.symbol, GREEDY_ARGMAX_PARTS.symbol, GREEDY_ARGMAX_JOINED.symbol],
    needs: clauses(&["logits"]),
    needs: [
        fact("out.align").at_least(4).source("shaders write words"),
        fact("out.max_offset").below(1_i64 << 31).source("shaders count elements in 32 bits"),
        fact("device.subgroup.arithmetic").is(true).source("maxima over subgroups"),
        fact("device.limit.invocations").at_least(i64::from(BLOCK)).source("a block's size"),
        fact("device.limit.shared_bytes").at_least(i64::from(SHARED)).source("a finding for each subgroup"),
    ],
    numeric_class: "vulkan.greedy_argmax",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(
    plan,
    &[
        &GREEDY_ARGMAX_ROWS,
        &GREEDY_ARGMAX_PARTS,
        &GREEDY_ARGMAX_JOINED,
    ],
)
.workspace(workspace);

const BLOCK: u32 = 256;
const SHARED: u32 = 2048;
/// Elements of a part: 32 for each invocation, which is 128 bytes of f32. A second launch costs what a block takes for some such parts.
const PART: i64 = 32 * BLOCK as i64;

/// Blocks of a row.
fn parts(columns: i64) -> i64 {
    match columns {
        ..=PART => 1,
        _ => columns.div_euclid(PART) + i64::from(columns.rem_euclid(PART) > 0),
    }
}

fn workspace(problem: &Problem<'_>) -> Result<u64> {
    let logits = problem.call.operand(0)?;
    let parts = parts(logits.dim(1)?);
    Ok(if parts == 1 {
        0
    } else {
        8 * (logits.dim(0)? * parts) as u64
    })
}

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (logits, out) = (call.operand(0)?, call.operand(1)?);
    let (rows, columns) = (logits.dim(0)?, logits.dim(1)?);
    if rows == 0 {
        return Ok(Vec::new());
    }
    let parts = parts(columns);
    let strides = (offsets(&logits)?[0], offsets(&out)?[0]);
    let launch = |shader, blocks: i64, width: i64| -> Result<Dispatch> {
        let dispatch = Dispatch::new(shader, BLOCK)
            .constants(&[dtype_code(logits.dtype())?])
            .shared(SHARED)
            .operand(0);
        let dispatch = match parts {
            1 => dispatch.u32(0).u32(0),
            _ => dispatch.workspace(0),
        };
        dispatch
            .operand(1)
            .u32(rows as u32)
            .u32(columns as u32)
            .u32(strides.0)
            .u32(strides.1)
            .u32(blocks as u32)
            .u32(width as u32)
            .blocks(rows * blocks, problem.limits.groups)
    };
    Ok(match parts {
        1 => vec![launch(&GREEDY_ARGMAX_ROWS, 1, PART)?],
        _ => vec![
            launch(&GREEDY_ARGMAX_PARTS, parts, PART)?,
            launch(&GREEDY_ARGMAX_JOINED, 1, parts)?,
        ],
    })
}

//! Vectors of 16 bytes, four under way an invocation; a sum for each block, added up by a second launch.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses};
use crate::shaders::MEMORY_PROBE;
use overt_kernels::ops::memory_probe::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/memory_probe/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "vectors of 16 bytes, four under way an invocation; a sum for each block, then their sum",
    images: [MEMORY_PROBE.image.id],
    entries: [MEMORY_PROBE.symbol],
    needs: clauses(&["x", "out"]),
    needs: [
        fact("device.subgroup.arithmetic").is(true).source("sums over subgroups"),
        fact("device.limit.invocations").at_least(i64::from(BLOCK)).source("a block's size"),
        fact("device.limit.shared_bytes").at_least(1024).source("a sum for each subgroup"),
    ],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&MEMORY_PROBE]).workspace(workspace);

const BLOCK: u32 = 256;
/// Elements of an invocation before a further block is worth its while: four vectors.
const DEPTH: i64 = 16;
/// Blocks at most: more than any device runs at once, and few enough for one block to add up their sums.
const MOST_BLOCKS: i64 = 4096;

/// Blocks that read the buffer.
fn blocks(count: i64) -> i64 {
    let each = i64::from(BLOCK) * DEPTH;
    (count.div_euclid(each) + 1).min(MOST_BLOCKS)
}

fn workspace(problem: &Problem<'_>) -> Result<u64> {
    Ok(match blocks(problem.call.operand(0)?.dim(0)?) {
        1 => 0,
        blocks => 4 * blocks as u64,
    })
}

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let count = problem.call.operand(0)?.dim(0)?;
    let blocks = blocks(count);
    let launch = || Dispatch::new(&MEMORY_PROBE, BLOCK).shared(1024);
    let one = [1, 1, 1];
    Ok(match blocks {
        1 => vec![launch().operand(0).operand(1).u32(count as u32).groups(one)],
        _ => vec![
            launch()
                .operand(0)
                .workspace(0)
                .u32(count as u32)
                .groups([blocks as u32, 1, 1]),
            launch()
                .workspace(0)
                .operand(1)
                .u32(blocks as u32)
                .groups(one),
        ],
    })
}

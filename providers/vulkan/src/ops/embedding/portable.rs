//! Tables of every weight format, eight neighbours of a row an invocation. A table may be of any size that memory holds.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses, dtype_code, offsets};
use crate::ops::{rows, weights};
use crate::shaders::EMBEDDING;
use overt_kernels::ops::embedding::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/embedding/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "every weight format, eight neighbours of a row an invocation; an id outside the table gives NaN",
    handles: ["scale"],
    images: [EMBEDDING.image.id],
    entries: [EMBEDDING.symbol],
    needs: clauses(&["out"]),
    needs: [
        fact("table.align").at_least(4).source("shaders read words"),
        fact("table.inner_contiguous").is(true).source("shaders step along a row by one"),
        fact("table.dtype").is_in(weights::FORMATS).source("what shaders decode"),
        fact("V").below(1_i64 << 31).source("ids have 31 bits"),
        fact("D").below(1_i64 << 30).source("shaders count the bytes of a row in 32 bits"),
        fact("ids.align").at_least(4).source("shaders read words"),
        fact("ids.max_offset").below(1_i64 << 31).source("shaders count elements in 32 bits"),
    ],
    numeric_class: "vulkan.embedding",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&EMBEDDING]);

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (table, ids, out) = (call.operand(0)?, call.operand(1)?, call.operand(2)?);
    let (rows, columns) = (out.dim(0)?, out.dim(1)?);
    if rows * columns == 0 {
        return Ok(Vec::new());
    }
    let dispatch = Dispatch::new(&EMBEDDING, rows::BLOCK)
        .constants(&[dtype_code(table.dtype())?, dtype_code(out.dtype())?])
        .operand(0)
        .operand(1)
        .operand(2);
    let dispatch = weights::long(dispatch, weights::stride_bytes(&table, 0)?)
        .u32(rows as u32)
        .u32(columns as u32)
        .u32(table.dim(0)? as u32)
        .u32(offsets(&ids)?[0])
        .u32(offsets(&out)?[0])
        .f32(call.attr_f64(0)?)
        .blocks(
            rows::blocks(rows * rows::chunks(columns), rows::BLOCK),
            problem.limits.groups,
        )?;
    Ok(vec![dispatch])
}

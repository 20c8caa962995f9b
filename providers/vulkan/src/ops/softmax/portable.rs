//! Rows in chunks of eight: one block for a wide row, several narrow rows a block. Read three times, twice from a near cache.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses, dtype_code, offsets};
use crate::ops::rows;
use crate::shaders::SOFTMAX;
use overt_kernels::ops::softmax::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/softmax/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "lanes by the row's width, sums in f32",
    handles: ["scale"],
    images: [SOFTMAX.image.id],
    entries: [SOFTMAX.symbol],
    needs: clauses(&["x", "out"]),
    needs: rows::clauses(),
    numeric_class: "vulkan.softmax",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&SOFTMAX]);

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (x, out) = (call.operand(0)?, call.operand(1)?);
    let (rows, columns) = (x.dim(0)?, x.dim(1)?);
    if rows * columns == 0 {
        return Ok(Vec::new());
    }
    let lanes = rows::lanes(columns);
    let block = rows::block(lanes);
    let dispatch = Dispatch::new(&SOFTMAX, block)
        .constants(&[lanes, dtype_code(x.dtype())?, dtype_code(out.dtype())?])
        .shared(1024)
        .operand(0)
        .operand(1)
        .u32(rows as u32)
        .u32(columns as u32)
        .u32(offsets(&x)?[0])
        .u32(offsets(&out)?[0])
        .f32(call.attr_f64(0)?)
        .blocks(
            rows::blocks(rows * i64::from(lanes), block),
            problem.limits.groups,
        )?;
    Ok(vec![dispatch])
}

//! Rows in chunks of eight: one block for a wide row, several narrow rows a block. Read twice, the second time from a near cache.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses, dtype_code, offsets};
use crate::ops::rows;
use crate::shaders::RMS_NORM;
use overt_kernels::ops::rms_norm::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/rms_norm/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "lanes by the row's width, sums in f32",
    handles: ["weight_offset"],
    images: [RMS_NORM.image.id],
    entries: [RMS_NORM.symbol],
    needs: clauses(&["x", "weight", "out"]),
    needs: rows::clauses(),
    numeric_class: "vulkan.rms_norm",
    flags: CAPTURE_SAFE | DETERMINISTIC | IN_PLACE,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&RMS_NORM]);

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (x, weight, out) = (call.operand(0)?, call.operand(1)?, call.operand(2)?);
    let (rows, columns) = (x.dim(0)?, x.dim(1)?);
    if rows * columns == 0 {
        return Ok(Vec::new());
    }
    let lanes = rows::lanes(columns);
    let block = rows::block(lanes);
    let dispatch = Dispatch::new(&RMS_NORM, block)
        .constants(&[lanes, dtype_code(x.dtype())?, dtype_code(weight.dtype())?])
        .shared(1024)
        .operand(0)
        .operand(1)
        .operand(2)
        .u32(rows as u32)
        .u32(columns as u32)
        .u32(offsets(&x)?[0])
        .u32(offsets(&out)?[0])
        .f32(call.attr_f64(0)?)
        .f32(call.attr_f64(1)?)
        .blocks(
            rows::blocks(rows * i64::from(lanes), block),
            problem.limits.groups,
        )?;
    Ok(vec![dispatch])
}

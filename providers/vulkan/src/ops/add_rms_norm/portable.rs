//! Rows in chunks of eight: one block for a wide row, several narrow rows a block. What is normalised is the residual as it was stored.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses, dtype_code, offsets};
use crate::ops::rows;
use crate::shaders::ADD_RMS_NORM;
use overt_kernels::ops::add_rms_norm::OP;
use overt_sdk::Result;

overt_sdk::kernel! {
    id: "vulkan/add_rms_norm/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "lanes by the row's width, sums in f32",
    handles: ["weight_offset"],
    images: [ADD_RMS_NORM.image.id],
    entries: [ADD_RMS_NORM.symbol],
    needs: clauses(&["x", "residual", "weight", "out"]),
    needs: rows::clauses(),
    numeric_class: "vulkan.add_rms_norm",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&ADD_RMS_NORM]);

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (x, residual) = (call.operand(0)?, call.operand(1)?);
    let (weight, out) = (call.operand(2)?, call.operand(3)?);
    let (rows, columns) = (x.dim(0)?, x.dim(1)?);
    if rows * columns == 0 {
        return Ok(Vec::new());
    }
    let lanes = rows::lanes(columns);
    let block = rows::block(lanes);
    let dispatch = Dispatch::new(&ADD_RMS_NORM, block)
        .constants(&[
            lanes,
            dtype_code(x.dtype())?,
            dtype_code(residual.dtype())?,
            dtype_code(weight.dtype())?,
        ])
        .shared(1024)
        .operand(0)
        .operand(1)
        .operand(2)
        .operand(3)
        .u32(rows as u32)
        .u32(columns as u32)
        .u32(offsets(&x)?[0])
        .u32(offsets(&residual)?[0])
        .u32(offsets(&out)?[0])
        .f32(call.attr_f64(0)?)
        .f32(call.attr_f64(1)?)
        .blocks(
            rows::blocks(rows * i64::from(lanes), block),
            problem.limits.groups,
        )?;
    Ok(vec![dispatch])
}

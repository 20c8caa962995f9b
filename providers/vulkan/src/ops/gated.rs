//! What gated activations share: a chunk of eight outputs an invocation, as `kernels/device/glsl/gated.glsl` has it.

use super::rows;
use crate::kernel::{Dispatch, Problem, Shader, dtype_code, offsets};
use overt_sdk::Result;

/// The launch, if there is anything to do: operands `x` and `out`, constants after the type, and words after the shape.
pub fn plan(
    problem: &Problem<'_>,
    shader: &'static Shader,
    constants: &[u32],
    parameters: &[f64],
) -> Result<Vec<Dispatch>> {
    let (x, out) = (problem.call.operand(0)?, problem.call.operand(1)?);
    let (rows, columns) = (out.dim(0)?, out.dim(1)?);
    if rows * columns == 0 {
        return Ok(Vec::new());
    }
    let mut all = vec![dtype_code(x.dtype())?];
    all.extend(constants);
    let mut dispatch = Dispatch::new(shader, rows::BLOCK)
        .constants(&all)
        .operand(0)
        .operand(1)
        .u32(rows as u32)
        .u32(columns as u32)
        .u32(offsets(&x)?[0])
        .u32(offsets(&out)?[0]);
    for parameter in parameters {
        dispatch = dispatch.f32(*parameter);
    }
    let invocations = rows * rows::chunks(columns);
    let blocks = rows::blocks(invocations, rows::BLOCK);
    Ok(vec![dispatch.blocks(blocks, problem.limits.groups)?])
}

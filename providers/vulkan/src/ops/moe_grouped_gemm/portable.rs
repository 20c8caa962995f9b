//! The whole schema: a block takes one row and eight columns of its expert, and goes along the depth in runs of eight.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses, dtype_code, offsets};
use crate::ops::matmul_bt::rounded;
use crate::ops::weights::{self, long, optional_code, scale_extent, stride_bytes};
use crate::shaders::{MATMUL_BT_ROUNDED as ROUNDED, MOE_GROUPED_GEMM_PORTABLE as SHADER};
use overt_kernels::ops::moe_grouped_gemm::OP;
use overt_sdk::{CallView, Result, dtypes};

overt_sdk::kernel! {
    id: "vulkan/moe_grouped_gemm/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "every format; a block of 64 takes a row and eight columns of its expert, sums in f32",
    handles: ["b_scale", "bias", "scale_rows", "scale_depth", "int8_activations"],
    images: [SHADER.image.id, ROUNDED.image.id],
    entries: [SHADER.symbol, ROUNDED.symbol],
    needs: clauses(&["a", "out", "bias"]),
    needs: weights::clauses("b"),
    needs: weights::scale_clauses(),
    needs: [
        fact("experts.align").at_least(4).source("shaders read words"),
        fact("experts.max_offset").below(1_i64 << 31).source("shaders count elements in 32 bits"),
        fact("E").below(1_i64 << 31).source("experts are counted in 31 bits"),
        fact("device.subgroup.arithmetic").is(true).source("sums over subgroups"),
        fact("device.limit.shared_bytes").at_least(i64::from(SHARED)).source("a sum for each subgroup and output"),
    ],
    numeric_class: "vulkan.moe_grouped_gemm.portable",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&SHADER, &ROUNDED]).workspace(workspace);

const A: usize = 0;
const B: usize = 1;
const EXPERTS: usize = 2;
const B_SCALE: usize = 3;
const BIAS: usize = 4;
const OUT: usize = 5;
const SCALE_ROWS: usize = 0;
const SCALE_DEPTH: usize = 1;
const INT8_ACTIVATIONS: usize = 2;

/// Invocations of a block. The shader has room for the subgroups of no more.
const BLOCK: u32 = 64;
/// Columns of a block, as the shader has them.
const COLUMNS: i64 = 8;
/// Bytes of shared memory: a sum for each output of the block and each of 16 subgroups.
const SHARED: u32 = 16 * 4 * COLUMNS as u32;

/// Whether activations are rounded first.
fn rounds(call: &CallView<'_>) -> Result<bool> {
    let (a, out) = (call.operand(A)?, call.operand(OUT)?);
    let empty = a
        .shape()
        .iter()
        .chain(out.shape())
        .any(|extent| *extent == 0);
    Ok(call.attr_bool(INT8_ACTIVATIONS)? && !empty)
}

fn workspace(problem: &Problem<'_>) -> Result<u64> {
    let a = problem.call.operand(A)?;
    Ok(if rounds(problem.call)? {
        rounded::bytes(a.dim(0)? * a.dim(1)?, a.dim(2)?)
    } else {
        0
    })
}

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (a, b, out) = (call.operand(A)?, call.operand(B)?, call.operand(OUT)?);
    let (scale, bias) = (call.optional(B_SCALE)?, call.optional(BIAS)?);
    let (rows, slots, columns) = (out.dim(0)?, out.dim(1)?, out.dim(2)?);
    if rows * slots * columns == 0 {
        return Ok(Vec::new());
    }
    let rounds = rounds(call)?;
    let depth = a.dim(2)?;
    let mut strides_a = offsets(&a)?;
    let mut launches = Vec::new();
    if rounds {
        launches.push(rounded::dispatch(A, &a, problem.limits.groups)?);
        let row = rounded::stride(depth);
        strides_a = vec![(row * slots) as u32, row as u32];
    }
    let dispatch = Dispatch::new(&SHADER, BLOCK)
        .constants(&[
            dtype_code(if rounds { dtypes::F32 } else { a.dtype() })?,
            dtype_code(b.dtype())?,
            dtype_code(out.dtype())?,
            optional_code(bias.as_ref())?,
            u32::from(scale.is_some()),
            b.dim(0)? as u32,
            scale_extent(call.attr_i64(SCALE_ROWS)?),
            scale_extent(call.attr_i64(SCALE_DEPTH)?),
        ])
        .shared(SHARED);
    let dispatch = if rounds {
        dispatch.workspace(0)
    } else {
        dispatch.operand(A)
    };
    let dispatch = dispatch
        .operand(B)
        .operand(EXPERTS)
        .operand(B_SCALE)
        .operand(BIAS)
        .operand(OUT);
    let experts = offsets(&call.operand(EXPERTS)?)?;
    let strides_scale = scale.as_ref().map_or(Ok(vec![0; 3]), offsets)?;
    let strides_bias = bias.as_ref().map_or(Ok(vec![0; 2]), offsets)?;
    let strides_out = offsets(&out)?;
    let dispatch = long(long(dispatch, stride_bytes(&b, 0)?), stride_bytes(&b, 1)?)
        .u32(rows as u32)
        .u32(slots as u32)
        .u32(columns as u32)
        .u32(depth as u32)
        .u32(strides_a[0])
        .u32(strides_a[1])
        .u32(experts[0])
        .u32(experts[1])
        .u32(strides_out[0])
        .u32(strides_out[1])
        .u32(strides_scale[0])
        .u32(strides_scale[1])
        .u32(strides_scale[2])
        .u32(strides_bias[0])
        .blocks(
            rows * slots * (columns + COLUMNS - 1).div_euclid(COLUMNS),
            problem.limits.groups,
        )?;
    launches.push(dispatch);
    Ok(launches)
}

//! Few rows of activations: weights are read once, in vectors, by blocks that go along the depth.

use super::problem::{Product, workspace};
use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses};
use crate::ops::{packing, weights};
use crate::shaders::{
    MATMUL_BT_FEW as SHADER, MATMUL_BT_PACK as PACK, MATMUL_BT_ROUNDED as ROUNDED,
};
use overt_kernels::dtype::element_bytes;
use overt_kernels::ops::matmul_bt::OP;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::dtypes::F32;
use overt_sdk::{Result, TensorView};

overt_sdk::knob! {
    id: "vulkan.matmul_bt.few_rows",
    default: 96,
    doc: "rows of the activations up to which a block goes along the depth for a few of them and a few rows of the weight",
    range: 0..=1024,
}

overt_sdk::knob! {
    id: "vulkan.matmul_bt.few_columns",
    default: 2,
    doc: "rows of a weight that a block takes for one row of activations, and half of those for several; a power of two",
    range: 1..=4,
}

overt_sdk::knob! {
    id: "vulkan.matmul_bt.few_lanes",
    default: 64,
    doc: "invocations of a block that share a row of a weight where activations have few rows, at most; a power of two",
    range: 32..=256,
}

overt_sdk::knob! {
    id: "vulkan.matmul_bt.few_lines",
    default: 4,
    doc: "rows of the activations that a block takes at the most where they are few",
    range: 1..=8,
}

overt_sdk::kernel! {
    id: "vulkan/matmul_bt/few",
    op: &OP,
    tier: Tuned,
    priority: 20,
    doc: "few rows: a block takes some rows of a weight of any format, plain or packed, and loads them in vectors",
    handles: ["b_scale", "bias", "scale_rows", "scale_depth", "int8_activations"],
    images: [SHADER.image.id, ROUNDED.image.id, PACK.image.id],
    entries: [SHADER.symbol, ROUNDED.symbol, PACK.symbol],
    knobs: ["vulkan.matmul_bt.few_columns", "vulkan.matmul_bt.few_lanes", "vulkan.matmul_bt.few_lines"],
    needs: clauses(&["a", "out", "bias"]),
    needs: weights::clauses("b"),
    needs: weights::scale_clauses(),
    needs: packing::clauses(),
    needs: few_needs(),
    numeric_class: "vulkan.matmul_bt.few",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&SHADER, &ROUNDED, &PACK])
    .workspace(workspace)
    .weights(packing::PACKING);

/// Elements of a run, and of a vector of 16-bit activations.
const RUN: i64 = 8;
/// Elements of the depth that an invocation takes in one step.
const STEP: i64 = 32;
/// A block has no fewer invocations, a subgroup on most devices.
const LEAST_LANES: i64 = 32;
/// Steps of an invocation from which loading a step ahead pays: with seven q8_0 took 22.8 us in place of 24.6, with two 26.7 in place of 25.1, at
/// 4096 by 14336 and the other way round on an H200; with four rows of activations it cost registers and a quarter of the speed.
const AHEAD_STEPS: i64 = 4;
/// Devices whose subgroups are narrower are drivers in software, for which it is the compiling that takes time.
const WIDE_SUBGROUP: u32 = 32;
/// Shared memory at the most: a float for each of 64 subgroups of four and 8 by 8 sums.
const SHARED: i64 = 64 * 64 * 4;

/// The least f16 above zero, twice: a number by which the shader tries the device's own conversion.
const LEAST_HALVES: u32 = 0x0001_0001;

fn few_needs() -> Vec<Clause> {
    vec![
        fact("M")
            .at_most(value_of("knob.vulkan.matmul_bt.few_rows"))
            .source("each few rows read the weight again; more rows are worth tiles: at 4096 by 14336 on an H200 48 rows took 0.35 ms so, and 16 rows 0.85 ms in tiles"),
        fact("a.align")
            .at_least(16)
            .source("activations are loaded in vectors of 16 bytes"),
        fact("attr.scale_depth")
            .multiple_of(RUN)
            .source("a run of eight lies under one scale"),
        fact("device.subgroup.arithmetic")
            .is(true)
            .source("sums over subgroups"),
        fact("device.limit.invocations")
            .at_least(256)
            .source("lanes of a row of a weight"),
        fact("device.limit.shared_bytes")
            .at_least(SHARED)
            .source("a sum for each subgroup and output"),
    ]
}

/// The power of two that is not above.
fn power(number: i64) -> u32 {
    1 << (number.max(1) as u32).ilog2()
}

/// Whether rows of a tensor with elements of their own begin on 16 bytes, where the tensor does, and have whole runs.
fn wide(tensor: &TensorView<'_>, depth: i64) -> Result<bool> {
    let Some(bytes) = element_bytes(tensor.dtype()) else {
        return Ok(false);
    };
    let row = weights::stride_bytes(tensor, 0)?;
    // Runs of one byte an element are vectors of 8.
    let vector = if bytes == 1 { 8 } else { 16 };
    Ok(depth.rem_euclid(RUN) == 0 && row.is_multiple_of(vector))
}

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let Some(product) = Product::of(problem.call)? else {
        return Ok(Vec::new());
    };
    let lanes = i64::from(power(problem.call.knob_i64(1)?));
    let most = problem.call.knob_i64(2)?;
    let steps = (product.depth + STEP - 1).div_euclid(STEP).max(1);
    let block = (steps as u64).next_power_of_two() as i64;
    let block = block.clamp(LEAST_LANES.min(lanes), lanes) as u32;
    let subgroups = block.div_ceil(problem.limits.subgroup[0].max(1));
    let packed = packing::is_packed(&product.b);
    // Rounded activations lie in rows of whole runs, the last of which may hold less.
    let wide_a = if product.rounded {
        product.depth.rem_euclid(RUN) == 0
    } else {
        wide(&product.a, product.depth)?
    };
    let wide_b = !packed && wide(&product.b, product.depth)?;
    let loads = match element_bytes(product.b.dtype()) {
        Some(_) if !wide_b => 1,
        Some(_) if product.b.dtype() == F32 => 8,
        Some(_) => 4,
        None => 1,
    };
    let [a, b, out, bias] = product.types()?;
    // As even as it goes.
    let turns = (product.rows + most - 1).div_euclid(most);
    let lines = ((product.rows + turns - 1).div_euclid(turns)) as u32;
    // What a row of the weight costs beside its loads is shared by the activations' rows, and theirs by the weight's.
    let columns = power(problem.call.knob_i64(0)?) * if lines > 1 { 2 } else { 1 };
    let dispatch = Dispatch::new(&SHADER, block)
        .constants(&[
            a,
            b,
            out,
            bias,
            u32::from(product.scale.is_some()),
            lines,
            columns,
            u32::from(packed),
            u32::from(wide_a),
            u32::from(wide_b),
            subgroups,
            loads,
            u32::from(problem.limits.subgroup[1] >= WIDE_SUBGROUP),
            u32::from(lines == 1 && steps >= AHEAD_STEPS * i64::from(block)),
        ])
        .shared(4 * subgroups * lines * columns);
    let blocks = (product.columns + i64::from(columns) - 1).div_euclid(i64::from(columns));
    let dispatch = product
        .words(dispatch)?
        .u32(LEAST_HALVES)
        .blocks(blocks * turns, problem.limits.groups)?;
    product.launches(problem, dispatch)
}

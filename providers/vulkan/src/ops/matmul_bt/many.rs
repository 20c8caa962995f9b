//! Many rows of activations: tiles in shared memory, in f32, for weights of any format.

use super::problem::{Product, workspace};
use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses};
use crate::ops::{packing, weights};
use crate::shaders::{
    MATMUL_BT_MANY as SHADER, MATMUL_BT_PACK as PACK, MATMUL_BT_ROUNDED as ROUNDED,
};
use overt_kernels::ops::matmul_bt::OP;
use overt_sdk::Result;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;

overt_sdk::knob! {
    id: "vulkan.matmul_bt.many_rows",
    default: 65,
    doc: "rows of the activations from which products are made in tiles in shared memory",
    range: 1..=1_000_000,
}

overt_sdk::knob! {
    id: "vulkan.matmul_bt.many_tiles",
    default: 96,
    doc: "tiles of 64 or 128 each way from which products of many rows are made in those rather than in smaller ones, which are more and keep \
          more of the device busy",
    range: 1..=1_000_000,
}

overt_sdk::kernel! {
    id: "vulkan/matmul_bt/many",
    op: &OP,
    tier: Tuned,
    priority: 10,
    doc: "many rows: tiles of 32, 64 or 128 each way in f32, for a weight of any format, plain or packed",
    handles: ["b_scale", "bias", "scale_rows", "scale_depth", "int8_activations"],
    images: [SHADER.image.id, ROUNDED.image.id, PACK.image.id],
    entries: [SHADER.symbol, ROUNDED.symbol, PACK.symbol],
    knobs: ["vulkan.matmul_bt.many_tiles"],
    needs: clauses(&["a", "out", "bias"]),
    needs: weights::clauses("b"),
    needs: weights::scale_clauses(),
    needs: packing::clauses(),
    needs: many_needs(),
    numeric_class: "vulkan.matmul_bt.many",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&SHADER, &ROUNDED, &PACK])
    .workspace(workspace)
    .weights(packing::PACKING);

/// Invocations in each direction of a block, and of the depth that lies in shared memory at once.
const SIDE: i64 = 16;
/// Results of an invocation in each direction.
const RESULTS: [i64; 3] = [2, 4, 8];
/// Bytes of shared memory: for each side and step of the depth a row of floats and a vector between rows.
const fn shared(results: i64) -> i64 {
    2 * SIDE * (SIDE * results * 4 + 16)
}
fn many_needs() -> Vec<Clause> {
    vec![
        fact("M")
            .at_least(value_of("knob.vulkan.matmul_bt.many_rows"))
            .source("fewer rows are faster without tiles: at 4096 by 14336 on an H200 16 rows took 0.85 ms in tiles, and 48 rows 0.35 ms without"),
        fact("device.limit.invocations")
            .at_least(SIDE * SIDE)
            .source("a block of 16 by 16"),
        fact("device.limit.shared_bytes")
            .at_least(shared(RESULTS[2]))
            .source("tiles of both sides"),
    ]
}

fn up(count: i64, by: i64) -> i64 {
    (count + by - 1).div_euclid(by)
}

/// Results of an invocation in each direction: the most for which there are rows, and `enough` tiles to keep the device busy.
fn results(rows: i64, columns: i64, enough: i64) -> i64 {
    let tiles = |results: i64| up(rows, SIDE * results) * up(columns, SIDE * results);
    if rows > SIDE * RESULTS[1] && tiles(RESULTS[2]) >= enough {
        RESULTS[2]
    } else if rows > SIDE * RESULTS[0] && tiles(RESULTS[1]) >= enough {
        RESULTS[1]
    } else {
        RESULTS[0]
    }
}

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let Some(product) = Product::of(problem.call)? else {
        return Ok(Vec::new());
    };
    let results = results(product.rows, product.columns, problem.call.knob_i64(0)?);
    let [a, b, out, bias] = product.types()?;
    let dispatch = Dispatch::new(&SHADER, (SIDE * SIDE) as u32)
        .constants(&[
            a,
            b,
            out,
            bias,
            u32::from(product.scale.is_some()),
            results as u32,
            results as u32,
            u32::from(packing::is_packed(&product.b)),
        ])
        .shared(shared(results) as u32);
    let tile = SIDE * results;
    let dispatch = product.words(dispatch)?.blocks(
        up(product.rows, tile) * up(product.columns, tile),
        problem.limits.groups,
    )?;
    product.launches(problem, dispatch)
}

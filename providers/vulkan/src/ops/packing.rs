//! Weights in blocks packed for vector loads: the planes of `kernels/device/glsl/packed.glsl`.

use super::{rows, weights};
use crate::kernel::{Dispatch, Problem, Weights, dtype_code};
use crate::shaders::MATMUL_BT_PACK as SHADER;
use overt_sdk::abi::OvertDType;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::{Error, Result, TensorView, WeightsLayout};

/// Operand `b` of both ops of products.
const B: u32 = 1;
/// Elements of a chunk, and lanes that share it.
const CHUNK: i64 = 256;
const LANES: i64 = 8;
/// Planes begin on a line of the cache.
const LINE: u64 = 128;

/// Formats that are packed: those of blocks.
pub const FORMATS: [OvertDType; 9] = [Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, MXFP4];

/// How kernels of products repack their weights, by the shader `matmul_bt.pack`.
pub const PACKING: Weights = Weights { layout, pack };

/// Names the layout: the letters `vk`, then what the bytes depend on, the format's code and the elements of a chunk.
pub const fn key(dtype: OvertDType) -> u64 {
    0x766b << 32 | (dtype.code as u64) << 16 | CHUNK as u64
}

/// Whether a weight lies packed.
pub fn is_packed(weight: &TensorView<'_>) -> bool {
    weight.layout() != 0
}

/// What shaders ask of a weight that may be packed.
pub fn clauses() -> Vec<Clause> {
    let keys = FORMATS.iter().map(|&dtype| key(dtype) as i64);
    vec![
        fact("b.layout")
            .is_in(std::iter::once(0).chain(keys))
            .source("plain, or planes of chunks of 256"),
        fact("b.align")
            .at_least(16)
            .source("weights are loaded in vectors of 16 bytes"),
        fact("b.max_offset")
            .below(1_i64 << 34)
            .source("shaders count runs of a weight in 32 bits"),
    ]
}

/// Bytes of a chunk over all planes.
fn chunk_bytes(dtype: OvertDType) -> Option<u64> {
    // Codes, bits above the low four, scales, the block's own scale.
    Some(match dtype {
        Q8_0 => 256 + 16,
        Q4_0 => 128 + 16,
        Q4_1 => 128 + 32,
        Q5_0 => 128 + 32 + 16,
        Q5_1 => 128 + 32 + 32,
        Q4_K => 128 + 16,
        Q5_K => 128 + 32 + 16,
        Q6_K => 128 + 64 + 16 + 2,
        MXFP4 => 128 + 8,
        _ => return None,
    })
}

/// Matrices, rows of each, and depth.
fn extents(weight: &TensorView<'_>) -> Option<(i64, i64, i64)> {
    match *weight.shape() {
        [rows, depth] => Some((1, rows, depth)),
        [matrices, rows, depth] => Some((matrices, rows, depth)),
        _ => None,
    }
}

fn chunks(depth: i64) -> i64 {
    depth.div_euclid(CHUNK) + i64::from(depth.rem_euclid(CHUNK) > 0)
}

fn layout(operand: u32, weight: &TensorView<'_>) -> Result<Option<WeightsLayout>> {
    let (Some(bytes), Some((matrices, rows, depth))) =
        (chunk_bytes(weight.dtype()), extents(weight))
    else {
        return Ok(None);
    };
    if operand != B {
        return Ok(None);
    }
    let all = matrices
        .checked_mul(rows)
        .and_then(|lines| lines.checked_mul(chunks(depth)));
    // Invocations that pack are counted in 32 bits.
    Ok(all
        .filter(|all| *all < (1 << 31) / LANES)
        .map(|all| WeightsLayout {
            key: key(weight.dtype()),
            // A plane of halves may end in the middle of a word.
            bytes: (all as u64 * bytes + 4).next_multiple_of(LINE),
            alignment: LINE,
        }))
}

/// Packs operand 0, a plain weight, into operand 1.
fn pack(_: u32, problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let source = problem.call.operand(0)?;
    let (matrices, rows, depth) = extents(&source)
        .ok_or_else(|| Error::unsupported("a weight of neither two nor three dimensions"))?;
    let invocations = matrices * rows * chunks(depth) * LANES;
    if invocations == 0 {
        return Ok(Vec::new());
    }
    let matrix = if source.shape().len() > 2 {
        weights::stride_bytes(&source, 0)?
    } else {
        0
    };
    let row = weights::stride_bytes(&source, source.shape().len() - 2)?;
    let dispatch = Dispatch::new(&SHADER, rows::BLOCK)
        .constants(&[dtype_code(source.dtype())?])
        .operand(0)
        .operand(1);
    let dispatch = weights::long(weights::long(dispatch, matrix), row)
        .u32(matrices as u32)
        .u32(rows as u32)
        .u32(depth as u32)
        .blocks(
            rows::blocks(invocations, rows::BLOCK),
            problem.limits.groups,
        )?;
    Ok(vec![dispatch])
}

//! Rounded activations in the workspace, for every kernel of products.

use crate::kernel::{Dispatch, dtype_code};
use crate::ops::rows;
use crate::shaders::MATMUL_BT_ROUNDED as SHADER;
use overt_sdk::{Error, Result, TensorView};

/// Columns that share a scale, by the op.
const BLOCK: i64 = 32;
/// Rows begin at a multiple of so many elements: 32 bytes of f32, so that runs of eight are loaded as vectors.
const UNIT: i64 = 8;

/// Elements between rows of rounded activations.
pub fn stride(depth: i64) -> i64 {
    (depth + UNIT - 1).div_euclid(UNIT) * UNIT
}

/// Bytes that rounded activations take in the workspace.
pub fn bytes(rows: i64, depth: i64) -> u64 {
    (rows * stride(depth)).max(0) as u64 * 4
}

/// The launch that rounds operand `number`, with the last dimension as columns and one or two before it as rows, to the workspace's
/// beginning, in f32.
///
/// # Errors
/// More elements than 32 bits count.
pub fn dispatch(number: usize, a: &TensorView<'_>, most: [u32; 3]) -> Result<Dispatch> {
    let strides = crate::kernel::offsets(a)?;
    let shape = a.shape();
    let (slots, depth) = (
        if shape.len() > 2 { shape[1] } else { 1 },
        shape[shape.len() - 1],
    );
    let rows = shape[0] * slots;
    if rows * stride(depth) >= 1 << 31 {
        return Err(Error::unsupported(format!(
            "{rows} rows of {depth} activations to be rounded; 2^31 elements is the most"
        )));
    }
    let blocks = depth.div_euclid(BLOCK) + i64::from(depth.rem_euclid(BLOCK) > 0);
    Dispatch::new(&SHADER, rows::BLOCK)
        .constants(&[dtype_code(a.dtype())?])
        .operand(number)
        .workspace(0)
        .u32(rows as u32)
        .u32(slots as u32)
        .u32(depth as u32)
        .u32(strides[0])
        .u32(if shape.len() > 2 { strides[1] } else { 0 })
        .u32(stride(depth) as u32)
        .blocks(rows::blocks(rows * blocks, rows::BLOCK), most)
}

//! Weights of products, as `kernels/device/glsl/formats.glsl` reads them.

use crate::kernel::{Dispatch, dtype_code};
use overt_kernels::dtype;
use overt_sdk::abi::OvertDType;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::{Error, Result, TensorView};

/// Every format of a weight.
pub const FORMATS: [OvertDType; 14] = [
    F32, F16, BF16, FP8_E4M3FN, FP8_E5M2, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, MXFP4,
];

/// What shaders ask of a weight that lies plain, besides its format.
pub fn clauses(name: &str) -> Vec<Clause> {
    vec![
        fact(format!("{name}.align"))
            .at_least(4)
            .source("shaders read words"),
        fact(format!("{name}.inner_contiguous"))
            .is(true)
            .source("shaders step along a row by one"),
        fact(format!("{name}.dtype"))
            .is_in(FORMATS)
            .source("what shaders decode"),
        fact("K")
            .below(1_i64 << 30)
            .source("shaders count the bytes of a row in 32 bits"),
    ]
}

/// What shaders ask of scales, whose strides may be any.
pub fn scale_clauses() -> Vec<Clause> {
    vec![
        fact("b_scale.align")
            .at_least(4)
            .source("shaders read words"),
        fact("b_scale.max_offset")
            .below(1_i64 << 31)
            .source("shaders count elements in 32 bits"),
    ]
}

/// Bytes between neighbours of a dimension of a weight: whole blocks.
pub fn stride_bytes(weight: &TensorView<'_>, dimension: usize) -> Result<u64> {
    if weight.dim(dimension)? <= 1 {
        return Ok(0);
    }
    let stride = weight.stride(dimension)?;
    let block = dtype::block(weight.dtype());
    let bytes = block.and_then(|block| {
        let stride = u64::try_from(stride).ok()?;
        (stride.is_multiple_of(block.elements)).then(|| stride / block.elements * block.bytes)
    });
    bytes.ok_or_else(|| {
        Error::unsupported(format!(
            "a stride of {stride} elements of {}",
            overt_sdk::dtypes::name(weight.dtype())
        ))
    })
}

/// The number of a scale in 31 bits, which the greatest count of rows or columns is below.
pub fn scale_extent(extent: i64) -> u32 {
    extent.clamp(1, i64::from(i32::MAX)) as u32
}

/// The type of an operand that may be absent.
pub fn optional_code(tensor: Option<&TensorView<'_>>) -> Result<u32> {
    tensor.map_or(Ok(0), |tensor| dtype_code(tensor.dtype()))
}

/// Two words of a number of 64 bits.
pub fn long(dispatch: Dispatch, number: u64) -> Dispatch {
    dispatch.u32(number as u32).u32((number >> 32) as u32)
}

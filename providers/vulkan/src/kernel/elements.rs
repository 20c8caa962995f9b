//! Element types as shaders number them, and what every kernel asks of its operands.

use overt_abi::OvertDType;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::{Error, Result, TensorView};

/// Types in the order of the numbers in `kernels/device/glsl/elements.glsl`.
const CODES: [OvertDType; 17] = [
    F32, F16, BF16, FP8_E4M3FN, FP8_E5M2, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, MXFP4,
    I32, I64, I8,
];

/// The number by which a shader knows a type.
pub fn dtype_code(dtype: OvertDType) -> Result<u32> {
    let place = CODES.iter().position(|known| *known == dtype);
    place.map(|i| i as u32).ok_or_else(|| {
        Error::unsupported(format!(
            "no shader knows {}",
            overt_sdk::dtypes::name(dtype)
        ))
    })
}

/// What shaders ask of these operands: addresses on whole words, element offsets of 31 bits, rows without gaps.
pub fn clauses(operands: &[&str]) -> Vec<Clause> {
    let mut out = Vec::with_capacity(3 * operands.len());
    for name in operands {
        out.push(
            fact(format!("{name}.align"))
                .at_least(4)
                .source("shaders read words"),
        );
        out.push(
            fact(format!("{name}.max_offset"))
                .below(1_i64 << 31)
                .source("shaders count elements in 32 bits"),
        );
        out.push(
            fact(format!("{name}.inner_contiguous"))
                .is(true)
                .source("shaders step along a row by one"),
        );
    }
    out
}

/// Strides of an operand in elements, as the 32 bits that its guard has promised.
pub fn offsets(tensor: &TensorView<'_>) -> Result<Vec<u32>> {
    tensor
        .strides()
        .iter()
        .zip(tensor.shape())
        .map(|(stride, extent)| {
            // A dimension that is never stepped along may have any stride.
            let stride = if *extent > 1 { *stride } else { 0 };
            u32::try_from(stride)
                .map_err(|_| Error::unsupported(format!("a stride of {stride} elements")))
        })
        .collect()
}

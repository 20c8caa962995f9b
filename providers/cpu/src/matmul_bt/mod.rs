//! Kernels of `matmul_bt`.

mod avx2;
mod avx2_many;
mod avx512;
mod avx512_bf16;
mod avx512_many;
mod fixed;
mod fp8_avx2;
mod fp8_avx512;
mod many;
mod operands;
mod quant;
mod quant_avx2;
mod quant_avx512;
mod quant_fixed_avx2;
mod quant_fixed_avx512;
mod quant_fixed_vnni;
mod quant_int8_avx2;
mod quant_int8_avx512;
mod quant_int8_vnni;
mod reference;
mod tuned;

pub(crate) use reference::{Scales, dot, round_row};

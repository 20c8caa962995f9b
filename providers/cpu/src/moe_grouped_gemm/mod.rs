//! Kernels of `moe_grouped_gemm`.

mod avx2;
mod avx2_many;
mod avx512;
mod avx512_many;
mod dense;
mod fp8_avx2;
mod fp8_avx512;
mod operands;
#[cfg(target_arch = "x86_64")]
mod placed;
mod quant;
mod quant_avx2;
mod quant_avx512;
mod quant_vnni;
mod reference;
mod sorted;

//! Kernels of `moe_grouped_gemm`.

mod operands;
mod reference;
mod sorted;

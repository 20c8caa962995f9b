//! Kernels of `moe_combine`.

mod avx2;
mod avx512;
mod operands;
mod reference;
mod tuned;

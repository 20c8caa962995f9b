//! Kernels of `arithmetic_probe`.

mod avx2;
mod avx512;
mod avx512_bf16;
mod avx512_vnni;
mod reference;
mod tuned;

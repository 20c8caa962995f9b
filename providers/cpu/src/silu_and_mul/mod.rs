//! Kernels of `silu_and_mul`.

mod avx2;
mod avx512;
mod reference;
mod tuned;

//! Kernels of `gelu_and_mul`.

mod avx2;
mod avx512;
mod reference;
mod tuned;

//! Kernels of `sample`.

mod avx2;
mod avx512;
mod philox;
mod reference;
mod tuned;

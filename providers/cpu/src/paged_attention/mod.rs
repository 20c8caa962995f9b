//! Kernels of `paged_attention`.

mod avx2;
mod avx512;
mod problem;
mod reference;
mod tuned;

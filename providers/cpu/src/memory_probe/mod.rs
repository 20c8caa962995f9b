//! Kernels of `memory_probe`.

mod avx2;
mod avx512;
mod reference;
mod tuned;

//! Kernels of `reshape_and_cache`.

mod avx2;
mod avx512;
mod reference;
mod tuned;

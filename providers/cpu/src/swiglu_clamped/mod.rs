//! Kernels of `swiglu_clamped`.

mod avx2;
mod avx512;
mod reference;
mod tuned;

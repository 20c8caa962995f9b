//! Kernels of `rms_norm`.

mod avx2;
mod avx512;
mod reference;
mod tuned;

//! Kernels of `softmax`.

mod avx2;
mod avx512;
mod reference;
mod tuned;

//! Kernels of `greedy_argmax`.

mod avx2;
mod avx512;
mod reference;
mod tuned;

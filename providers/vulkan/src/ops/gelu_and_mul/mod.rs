//! Kernels of `gelu_and_mul.1`.

mod portable;

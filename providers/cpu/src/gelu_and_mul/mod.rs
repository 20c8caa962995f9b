//! Kernels of `gelu_and_mul`.

mod reference;

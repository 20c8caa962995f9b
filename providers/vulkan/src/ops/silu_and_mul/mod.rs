//! Kernels of `silu_and_mul.1`.

mod portable;

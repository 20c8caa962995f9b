//! Kernels of `silu_and_mul`.

mod reference;

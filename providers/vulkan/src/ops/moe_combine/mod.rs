//! Kernels of `moe_combine.1`.

mod portable;

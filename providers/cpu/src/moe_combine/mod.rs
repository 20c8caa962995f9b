//! Kernels of `moe_combine`.

mod operands;
mod reference;

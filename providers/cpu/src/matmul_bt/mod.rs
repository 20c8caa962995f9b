//! Kernels of `matmul_bt`.

mod avx2;
mod avx512;
mod operands;
mod reference;
mod tuned;

pub(crate) use reference::{Scales, dot, round_row};

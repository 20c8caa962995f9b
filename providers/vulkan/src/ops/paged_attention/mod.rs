//! Kernels of `paged_attention.1`.

mod portable;
mod problem;

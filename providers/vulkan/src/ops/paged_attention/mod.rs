//! Kernels of `paged_attention.1`.

mod decode_split;
mod portable;
mod problem;

//! Kernels, by op.

mod add;
mod matmul_bt;
mod paged_attention;
mod weights;

//! Kernels, by op.

mod add;
mod add_rms_norm;
mod matmul_bt;
mod paged_attention;
mod rms_norm;
mod rope;
mod rows;
mod weights;

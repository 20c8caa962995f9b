//! Kernels, by op.

mod add;
mod add_rms_norm;
mod matmul_bt;
mod paged_attention;
mod rms_norm;
mod rows;
mod weights;

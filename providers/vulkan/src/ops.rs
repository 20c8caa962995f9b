//! Kernels, by op.

mod add;
mod paged_attention;

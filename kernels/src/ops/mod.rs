//! The common ops, one folder each.

pub mod add;
pub mod matmul_bt;
pub mod paged_attention;
pub mod reshape_and_cache;
pub mod rms_norm;
pub mod silu_and_mul;

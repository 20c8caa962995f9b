//! The common ops, one folder each.

pub mod add;
mod build;
pub mod matmul_bt;
pub mod paged_attention;
pub mod pairwise;
pub mod reshape_and_cache;
pub mod rms_norm;
pub mod silu_and_mul;
mod support;

use crate::op::Op;

/// Every common op, by name.
pub const ALL: &[&Op] = &[
    &add::OP,
    &matmul_bt::OP,
    &paged_attention::OP,
    &reshape_and_cache::OP,
    &rms_norm::OP,
    &silu_and_mul::OP,
];

/// The op of this name: `rms_norm.1`.
pub fn find(name: &str) -> Option<&'static Op> {
    ALL.iter().copied().find(|op| op.name == name)
}

//! The common ops, one folder each.

pub mod add;
pub mod add_rms_norm;
pub mod arithmetic_probe;
mod build;
pub mod embedding;
pub mod gelu_and_mul;
pub mod greedy_argmax;
pub mod matmul_bt;
pub mod memory_probe;
pub mod moe_combine;
pub mod moe_grouped_gemm;
pub mod moe_router_topk;
pub mod paged_attention;
pub mod pairwise;
pub mod reshape_and_cache;
pub mod rms_norm;
pub mod rope;
pub mod sample;
pub mod silu_and_mul;
pub mod softmax;
mod support;
pub mod swiglu_clamped;

use crate::op::Op;

/// Every common op, by name.
pub const ALL: &[&Op] = &[
    &add::OP,
    &add_rms_norm::OP,
    &arithmetic_probe::OP,
    &embedding::OP,
    &gelu_and_mul::OP,
    &greedy_argmax::OP,
    &matmul_bt::OP,
    &memory_probe::OP,
    &moe_combine::OP,
    &moe_grouped_gemm::OP,
    &moe_router_topk::OP,
    &paged_attention::OP,
    &reshape_and_cache::OP,
    &rms_norm::OP,
    &rope::OP,
    &sample::OP,
    &silu_and_mul::OP,
    &softmax::OP,
    &swiglu_clamped::OP,
];

/// The op of this name: `rms_norm.1`.
pub fn find(name: &str) -> Option<&'static Op> {
    ALL.iter().copied().find(|op| op.name == name)
}

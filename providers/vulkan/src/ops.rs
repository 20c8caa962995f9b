//! Kernels, by op.

mod add;
mod add_rms_norm;
mod arithmetic_probe;
mod embedding;
mod gated;
mod gelu_and_mul;
mod greedy_argmax;
mod matmul_bt;
mod memory_probe;
mod moe_combine;
mod moe_grouped_gemm;
mod moe_router_topk;
mod packing;
mod paged_attention;
mod reshape_and_cache;
mod rms_norm;
mod rope;
mod rows;
mod sample;
mod silu_and_mul;
mod softmax;
mod swiglu_clamped;
mod weights;

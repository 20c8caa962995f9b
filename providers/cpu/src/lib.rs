//! The CPU provider: one device or several out of one CPU, a reference kernel for every common op over its whole schema, and tuned kernels for x86-64.
//!
//! One build runs on any x86-64, and the portable code on aarch64: nothing is compiled for the machine that builds it, and
//! vector code sits in functions that enable their instructions themselves, reached only where a kernel's guard has found
//! the features on the live CPU *and* enabled by its operating system.
//!
//! Each kernel is a file in its op's folder and registers itself there.

mod add;
mod add_rms_norm;
mod arithmetic_probe;
mod device;
mod embedding;
mod gelu_and_mul;
mod greedy_argmax;
mod images;
mod matmul_bt;
mod memory_probe;
mod moe_combine;
mod moe_grouped_gemm;
mod moe_router_topk;
mod paged_attention;
mod pool;
mod provider;
mod reshape_and_cache;
mod rms_norm;
mod rope;
mod sample;
mod silu_and_mul;
#[cfg(target_arch = "x86_64")]
mod simd;
mod softmax;
mod swiglu_clamped;
#[cfg(target_arch = "x86_64")]
mod vectors;

pub use provider::Cpu;

overt_sdk::export_provider!(Cpu);

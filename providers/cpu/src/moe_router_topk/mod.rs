//! Kernels of `moe_router_topk`.

mod avx2;
mod avx512;
mod problem;
mod reference;
mod tuned;

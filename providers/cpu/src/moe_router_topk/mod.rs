//! Kernels of `moe_router_topk`.

mod problem;
mod reference;

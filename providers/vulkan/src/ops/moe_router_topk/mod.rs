//! Kernels of `moe_router_topk.1`.

mod portable;

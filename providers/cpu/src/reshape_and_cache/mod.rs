//! Kernels of `reshape_and_cache`.

mod reference;

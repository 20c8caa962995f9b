//! Kernels of `reshape_and_cache.1`.

mod portable;

//! Kernels of `embedding.1`.

mod portable;

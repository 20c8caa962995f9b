//! Kernels of `rope.1`.

mod portable;

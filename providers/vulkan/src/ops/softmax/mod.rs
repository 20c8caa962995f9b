//! Kernels of `softmax.1`.

mod portable;

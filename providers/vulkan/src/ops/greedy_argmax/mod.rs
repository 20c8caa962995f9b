//! Kernels of `greedy_argmax.1`.

mod portable;

//! Kernels of `greedy_argmax`.

mod reference;

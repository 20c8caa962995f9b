//! Kernels of `softmax`.

mod reference;

//! Kernels of `sample.1`.

mod portable;

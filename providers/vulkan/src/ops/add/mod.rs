//! Kernels of `add.1`.

mod portable;

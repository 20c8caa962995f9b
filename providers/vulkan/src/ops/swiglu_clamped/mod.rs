//! Kernels of `swiglu_clamped.1`.

mod portable;

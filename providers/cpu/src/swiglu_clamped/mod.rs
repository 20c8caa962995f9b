//! Kernels of `swiglu_clamped`.

mod reference;

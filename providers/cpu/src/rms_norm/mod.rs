//! Kernels of `rms_norm`.

mod reference;

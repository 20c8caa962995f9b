//! Kernels of `add_rms_norm`.

mod reference;

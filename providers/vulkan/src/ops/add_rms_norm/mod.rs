//! Kernels of `add_rms_norm.1`.

mod portable;

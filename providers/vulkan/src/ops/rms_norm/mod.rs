//! Kernels of `rms_norm.1`.

mod portable;

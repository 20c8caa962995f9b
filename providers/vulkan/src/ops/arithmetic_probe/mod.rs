//! Kernels of `arithmetic_probe.1`.

mod portable;

//! Kernels of `memory_probe.1`.

mod portable;

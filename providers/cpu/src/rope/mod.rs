//! Kernels of `rope`.

mod reference;

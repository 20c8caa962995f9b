//! Kernels of `embedding`.

mod reference;

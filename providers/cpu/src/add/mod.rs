//! Kernels of `add`.

mod reference;

//! Kernels of `sample`.

mod philox;
mod reference;

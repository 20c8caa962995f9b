//! Kernels, by op.

mod add;

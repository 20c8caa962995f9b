//! What the ops are: their schemas, oracles, tolerances, geometries and work, and (by op) the sources of device kernels.
//!
//! An op is a contract that no backend owns. This crate knows nothing of providers or of the runtime; both build on it.
//! Nothing here is used to compute on a device: the oracles are written to be right, in `f64`, and share no code with any
//! kernel.

#![deny(missing_docs)]

pub mod dtype;
pub mod host;
pub mod models;
pub mod op;
pub mod ops;
pub mod schema;

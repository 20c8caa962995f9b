//! What the integration tests share: providers built for them, the ledger of executed cases, calls that are checked against the
//! oracle, and observers.
//!
//! Each file in `tests/` holds the promises of one subject, and its tests are named after them. A test runs its body through
//! [`case!`], which keeps the ledger that `cargo xtask test` reads.

pub mod built;
pub mod capability;
pub mod hooks;
pub mod hostile;
pub mod ledger;
pub mod manifest;
pub mod model;
pub mod observer;
pub mod parts;
pub mod problems;
pub mod run;
pub mod split;
pub mod start;
pub mod tree;
pub mod vulkan;

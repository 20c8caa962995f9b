//! One pass of a batch of tokens through the layers of one device.
//!
//! A pass is a list of calls and nothing else: which kernel serves each is the runtime's to choose, and nothing here knows what
//! the device is. Memory is the device's; the host writes one block of control data before a pass, and reads one row of tokens
//! behind the last.

mod buffers;
mod calls;
mod control;
mod ops;

pub(crate) use buffers::{Buffers, Sizes, Views};
pub(crate) use calls::{Part, calls};
pub(crate) use control::Batch;
pub use ops::Kind;
pub(crate) use ops::{Ops, Witnesses};

//! A call whose operands lie in host memory: what oracles read and what verification fills.
//!
//! Numbers are decoded and rounded here in plain integer steps, apart from the library that kernels use for it, so that a
//! fault in one does not hide the same fault in the other.

mod bind;
mod blocks;
mod call;
mod element;
mod error;
mod fp8;
mod offsets;
mod reader;
mod tensor;

pub use blocks::BlockFormat;
pub use call::HostCall;
pub use element::Element;
pub use error::HostError;
pub use reader::{Reader, Storage};
pub use tensor::HostTensor;

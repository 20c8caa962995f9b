//! Runs language models through [`overt`]. It is a user of the runtime and uses its public API only, so it is also the example of
//! how to embed it.
//!
//! - [`gguf`] reads model files.

#![deny(missing_docs)]

pub mod gguf;

//! Runs language models through [`overt`]. It is a user of the runtime and uses its public API only, so it is also the example of
//! how to embed it.
//!
//! - [`gguf`] reads model files.
//! - [`model`] is what a file says of its model, and its weights on devices.
//! - [`text`] is what models read and write as people do.
//! - [`Engine`] continues sequences: prompts in chunks, a paged cache, several sequences a pass, and the decode step captured and replayed.
//!
//! A pass is a list of [`overt::Call`]s. Which kernel serves each is the runtime's to choose; [`Engine::evidence`] says what it chose.

#![deny(missing_docs)]

mod error;
mod forward;
pub mod gguf;
pub mod model;
mod run;
pub mod text;

pub use error::EngineError;
pub use forward::Kind;
pub use run::{
    Engine, Evidence, Finish, KernelEvidence, KernelUse, Options, Placement, Produced, Request,
    Sampling, SequenceId, Steps,
};

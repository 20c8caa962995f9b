//! What can go wrong.

use crate::gguf::GgufError;
use crate::run::SequenceId;
use overt::kernels::ops::rope::FrequencyError;

/// Why a model could not be loaded or run. Unless a variant says otherwise nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The file is broken, or lacks what the model needs.
    #[error(transparent)]
    File(#[from] GgufError),
    /// The runtime, a provider or a device refused; with [`overt::Error::NoKernel`] and [`overt::Error::FallbackRefused`] the selection says
    /// why.
    #[error(transparent)]
    Runtime(#[from] overt::Error),
    /// A call of the model does not fit its op.
    #[error(transparent)]
    Call(#[from] overt::BindError),
    /// A shape that no tensor can have.
    #[error(transparent)]
    View(#[from] overt::ViewError),
    /// Position frequencies that the file asks for cannot be computed.
    #[error(transparent)]
    Frequency(#[from] FrequencyError),
    /// The file is of a model that this engine does not run.
    #[error("{what} is {got}; this engine runs {wanted}")]
    Unsupported {
        /// The key or tensor.
        what: String,
        /// What the file says.
        got: String,
        /// What would do.
        wanted: String,
    },
    /// A tensor of the file does not fit the model's sizes.
    #[error("tensor `{tensor}` has shape {got:?}; the model's sizes want {wanted:?}")]
    Shape {
        /// Its name.
        tensor: String,
        /// Its shape, rows first.
        got: Vec<i64>,
        /// What would fit.
        wanted: Vec<i64>,
    },
    /// An option that no engine can be made with.
    #[error("option `{option}` is {got}; wanted {wanted}")]
    Option {
        /// Its name.
        option: &'static str,
        /// What was given.
        got: String,
        /// What would do.
        wanted: String,
    },
    /// No token can be taken from a sequence's logits. The others go on once it is cancelled.
    #[error(
        "{sequence:?}: the logits hold no number to choose by; the weights or the cache hold NaN"
    )]
    NoToken {
        /// Whose.
        sequence: SequenceId,
    },
    /// Whoever was told of the progress wanted no more.
    #[error("loading was stopped")]
    Stopped,
    /// A prompt that can never run here.
    #[error("the prompt has {got} token(s); wanted {wanted}")]
    Prompt {
        /// Its length.
        got: usize,
        /// What would do.
        wanted: String,
    },
    /// A token that the vocabulary does not have.
    #[error(
        "token {token} at position {at} of the sequence is outside the vocabulary of {vocabulary}"
    )]
    Token {
        /// The token.
        token: u32,
        /// Where it stands.
        at: usize,
        /// Size of the vocabulary.
        vocabulary: usize,
    },
}

//! What can be wrong with a workload.

use super::TensorTextError;
use crate::bind::{BindError, list, near_text};
use crate::memory::ViewError;
use overt_kernels::host::HostError;
use overt_kernels::op::ContentError;
use std::path::PathBuf;

/// A workload that cannot be run. Nothing was allocated or run.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {}{problem}", file.display(), if *line == 0 { String::new() } else { format!(":{line}") }, if call.is_empty() { String::new() } else { format!("{call}: ") })]
pub struct WorkloadError {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; 0 where it concerns the file as a whole.
    pub line: usize,
    /// Which call, in words; empty where it concerns none.
    pub call: String,
    /// What is wrong.
    pub problem: Box<WorkloadProblem>,
}

/// The ways in which a workload can be wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadProblem {
    /// The file cannot be read.
    #[error("it cannot be read: {words}")]
    Read {
        /// The system's words.
        words: String,
    },
    /// It is no TOML, or not of a workload's form.
    #[error("{words}")]
    Form {
        /// The parser's words.
        words: String,
    },
    /// It lists no call.
    #[error("it lists no call; wanted at least one `[[call]]`")]
    Empty,
    /// A number of repeats below one.
    #[error("repeat is {got}; wanted at least 1")]
    Repeat {
        /// The number given.
        got: i64,
    },
    /// No such op.
    #[error("{words}")]
    Op {
        /// The runtime's words, with names like it.
        words: String,
    },
    /// An operand's text.
    #[error("operand `{operand}`: {error}")]
    Tensor {
        /// The operand.
        operand: String,
        /// What is wrong with the text.
        error: TensorTextError,
    },
    /// An operand that is neither a text nor a table, or a table with other keys.
    #[error(
        "operand `{operand}` {what}; wanted a text, or a table of `tensor`, `padding` and `outer_padding`"
    )]
    Operand {
        /// The operand.
        operand: String,
        /// What it is.
        what: String,
    },
    /// An operand that no memory can hold.
    #[error("operand `{operand}`: {error}")]
    View {
        /// The operand.
        operand: String,
        /// What is wrong with its layout.
        error: ViewError,
    },
    /// An attribute of a type that no attribute has.
    #[error("attribute `{attr}` is {what}; wanted a truth value, a number or a text")]
    Attr {
        /// The attribute.
        attr: String,
        /// What it is.
        what: String,
    },
    /// The call breaks its op's schema.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A parameter of filling that the op does not have.
    #[error("no lengths `{name}`{}; the op has {}", near_text(near), list(known))]
    UnknownLengths {
        /// The name given.
        name: String,
        /// Names like it.
        near: Vec<String>,
        /// Names that there are.
        known: Vec<String>,
    },
    /// A number of lengths other than the number of requests.
    #[error("lengths `{name}`: {what}; wanted {wanted}")]
    Lengths {
        /// The parameter.
        name: String,
        /// What is wrong.
        what: String,
        /// What would be right.
        wanted: String,
    },
    /// A call that host memory cannot hold.
    #[error(transparent)]
    Host(#[from] HostError),
    /// More memory than this machine gives.
    #[error("operand `{operand}`: no memory for {bytes} bytes")]
    Memory {
        /// The operand.
        operand: String,
        /// Its size.
        bytes: u64,
    },
    /// Contents that break the op's rules: the lengths do not fit the shapes.
    #[error("{0}")]
    Content(ContentError),
    /// An op of a provider's own without an oracle has nobody who knows what its operands may hold.
    #[error(
        "{op} is an op of provider {provider} and of no common set; a workload cannot fill its operands"
    )]
    Foreign {
        /// The op.
        op: String,
        /// Its provider.
        provider: String,
    },
}

//! What can go wrong while verifying, apart from wrong numbers.

use crate::bind::{BindError, list, near_text};
use crate::count::WitnessError;
use crate::error::Error;
use overt_kernels::host::HostError;

/// Verification could not be done, or showed that another kernel ran than should have. Wrong numbers are no error but a
/// [`Check`](super::Check) that did not pass.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The runtime refused the call, or a launch failed.
    #[error(transparent)]
    Runtime(#[from] Error),
    /// A call on host memory that does not hold together: a geometry or a workload is wrong.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The witness saw other launches than the selection announced.
    #[error(transparent)]
    Witness(#[from] WitnessError),
    /// An op that brings no oracle.
    #[error("{op} has no oracle, so nothing can be said of its numbers")]
    NoOracle {
        /// The op.
        op: String,
    },
    /// The oracle of a provider's own op failed.
    #[error("the oracle of {op} failed: status {status}: {words}")]
    Oracle {
        /// The op.
        op: String,
        /// The status it returned.
        status: i32,
        /// Its words.
        words: String,
    },
    /// A filter that names nothing.
    #[error("no {what} `{name}`{}; known: {}", near_text(near), list(known))]
    Unknown {
        /// `kernel` or `geometry`.
        what: &'static str,
        /// The name given.
        name: String,
        /// Names like it.
        near: Vec<String>,
        /// All names, or the first few.
        known: Vec<String>,
    },
}

impl From<BindError> for VerifyError {
    fn from(error: BindError) -> VerifyError {
        VerifyError::Runtime(error.into())
    }
}

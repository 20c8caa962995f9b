//! What a provider's code returns when it cannot do what was asked.

use overt_abi::{
    OVERT_E_ABI, OVERT_E_ASYNC, OVERT_E_CAPTURE, OVERT_E_DEVICE_LOST, OVERT_E_INTERNAL,
    OVERT_E_INVALID, OVERT_E_LAUNCH, OVERT_E_MISSING, OVERT_E_NOT_READY, OVERT_E_OUT_OF_MEMORY,
    OVERT_E_PREPARE_FIRST, OVERT_E_UNSUPPORTED, OvertStatus,
};
use std::borrow::Cow;

/// A status for the host's code and words for the person who reads the log. The edge turns it into the entry's return value
/// and the sink's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// One of the `OVERT_E_…` codes, never `OVERT_OK`.
    pub status: OvertStatus,
    /// What was wrong, where, what was wanted and what to do, with concrete names.
    pub message: Cow<'static, str>,
}

/// The result of a provider's code.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident = $status:ident;)*) => {
        impl Error {
            $(
                $(#[$doc])*
                pub fn $name(message: impl Into<Cow<'static, str>>) -> Self {
                    Self::new($status, message)
                }
            )*
        }
    };
}

impl Error {
    /// An error with any status. A status of `OVERT_OK` would read as success, so it becomes `OVERT_E_INTERNAL`.
    pub fn new(status: OvertStatus, message: impl Into<Cow<'static, str>>) -> Self {
        let status = if status == overt_abi::OVERT_OK {
            OVERT_E_INTERNAL
        } else {
            status
        };
        Self {
            status,
            message: message.into(),
        }
    }

    /// The same error, of this operand.
    pub(crate) fn at(self, operand: usize) -> Self {
        Self::new(self.status, format!("operand {operand}: {}", self.message))
    }

    /// Work is still pending. Not a failure, so it has no words.
    pub(crate) fn not_ready() -> Self {
        Self::new(OVERT_E_NOT_READY, "")
    }
}

constructors! {
    /// Versions or struct sizes do not meet.
    abi = OVERT_E_ABI;
    /// An argument breaks the entry's rule.
    invalid = OVERT_E_INVALID;
    /// The provider cannot do this at all.
    unsupported = OVERT_E_UNSUPPORTED;
    /// Memory ran out; nothing has changed.
    out_of_memory = OVERT_E_OUT_OF_MEMORY;
    /// The device is gone.
    device_lost = OVERT_E_DEVICE_LOST;
    /// A launch was refused or failed; nothing was enqueued.
    launch = OVERT_E_LAUNCH;
    /// Earlier asynchronous work failed.
    asynchronous = OVERT_E_ASYNC;
    /// Inside a capture: `kernel_prepare` is needed first.
    prepare_first = OVERT_E_PREPARE_FIRST;
    /// Not allowed while capturing, or on this stream.
    capture = OVERT_E_CAPTURE;
    /// A library, driver or file is missing or too old.
    missing = OVERT_E_MISSING;
    /// Anything else.
    internal = OVERT_E_INTERNAL;
}

//! How a command ends.

use overt::Error;
use overt::verify::VerifyError;
use overt::workload::{ArgError, WorkloadError};
use overt_engine::EngineError;
use overt_engine::text::{TemplateError, TextError};
use serde::Serialize;
use std::process::ExitCode;

/// The exit codes of the program. Documented in `--help` and `docs/cli.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// All is well.
    Success = 0,
    /// A check failed.
    Failed = 1,
    /// The user asked for what cannot be.
    Usage = 2,
    /// Nothing was executed.
    Nothing = 3,
    /// No kernel, or a fallback that the policy refuses.
    Refused = 4,
    /// A provider or a device failed.
    Provider = 5,
    /// The user ended it.
    Interrupted = 130,
}

impl Exit {
    /// For the operating system.
    pub fn code(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}

/// A command that could not be carried out.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// What was wrong.
    pub message: String,
}

impl Failure {
    /// One of this kind.
    pub fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure {
            exit,
            message: message.into(),
        }
    }
}

/// The code that an error of the runtime stands for.
pub fn of(error: &Error) -> Exit {
    match error {
        Error::NoKernel(_) | Error::FallbackRefused(_) => Exit::Refused,
        Error::Witness(_) | Error::GuardLie(_) => Exit::Failed,
        Error::Bind(_)
        | Error::View(_)
        | Error::Content { .. }
        | Error::UnknownOp { .. }
        | Error::UnknownDevice { .. }
        | Error::UnknownKernel { .. }
        | Error::UnknownKnob { .. }
        | Error::KnobValue { .. } => Exit::Usage,
        _ => Exit::Provider,
    }
}

/// The code that a failed verification stands for.
pub fn of_verify(error: &VerifyError) -> Exit {
    match error {
        VerifyError::Runtime(error) => of(error),
        VerifyError::Witness(_) => Exit::Failed,
        VerifyError::Host(_) | VerifyError::Unknown { .. } => Exit::Usage,
        _ => Exit::Provider,
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::new(of(&error), error.to_string())
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        let exit = match &error {
            EngineError::Runtime(error) => of(error),
            EngineError::Stopped => Exit::Interrupted,
            _ => Exit::Usage,
        };
        Failure::new(exit, error.to_string())
    }
}

impl From<TextError> for Failure {
    fn from(error: TextError) -> Failure {
        Failure::new(Exit::Usage, error.to_string())
    }
}

impl From<TemplateError> for Failure {
    fn from(error: TemplateError) -> Failure {
        Failure::new(Exit::Usage, error.to_string())
    }
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Failure {
        Failure::new(of_verify(&error), error.to_string())
    }
}

impl From<WorkloadError> for Failure {
    fn from(error: WorkloadError) -> Failure {
        Failure::new(Exit::Usage, error.to_string())
    }
}

impl From<ArgError> for Failure {
    fn from(error: ArgError) -> Failure {
        Failure::new(Exit::Usage, error.to_string())
    }
}

//! Errors of the runtime: what was wrong, where, what was wanted and what to do.

use crate::bind::{BindError, list, near_text};
use crate::count::WitnessError;
use crate::load::LoadError;
use crate::memory::ViewError;
use crate::select::Selection;
use overt_abi::*;
use overt_kernels::op::ContentError;

/// Any error of the runtime. Unless a variant says otherwise nothing has run and nothing has changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A provider that was asked for did not load.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A problem breaks its op's schema.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A view that cannot be.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A tensor that DLPack cannot carry, in or out.
    #[error(transparent)]
    Dlpack(#[from] crate::memory::DlpackError),
    /// A witness does not vouch.
    #[error(transparent)]
    Witness(#[from] WitnessError),
    /// Contents break the op's rules (checked mode).
    #[error("{op}: {error}")]
    Content {
        /// The op.
        op: String,
        /// What is wrong.
        error: ContentError,
    },
    /// No such op.
    #[error("no op `{name}`{}; known: {}", near_text(near), list(known))]
    UnknownOp {
        /// The name given.
        name: String,
        /// Names like it.
        near: Vec<String>,
        /// All names.
        known: Vec<String>,
    },
    /// An op that was taken from another runtime, where its number means another op.
    #[error("op {op} was taken from another runtime: ask this one for it (`Runtime::op`)")]
    ForeignOp {
        /// The op.
        op: String,
    },
    /// No such device.
    #[error("no device `{name}`; there {}{}", devices(known), notes.iter().map(|n| format!("\n  {n}")).collect::<String>())]
    UnknownDevice {
        /// The name given.
        name: String,
        /// All devices.
        known: Vec<String>,
        /// What is known of the provider that it names.
        notes: Vec<String>,
    },
    /// No such kernel, in a pin or a denial.
    #[error(
        "the policy names kernel `{name}`, which no provider declares{}",
        near_text(near)
    )]
    UnknownKernel {
        /// The name given.
        name: String,
        /// Names like it.
        near: Vec<String>,
    },
    /// No such knob.
    #[error("no provider declares knob `{name}`{}", near_text(near))]
    UnknownKnob {
        /// The name given.
        name: String,
        /// Names like it.
        near: Vec<String>,
    },
    /// A value that a knob does not take.
    #[error("knob `{name}` is set to {got}; wanted {wanted} ({doc})")]
    KnobValue {
        /// The knob.
        name: String,
        /// The value given.
        got: String,
        /// What it takes.
        wanted: String,
        /// Its documentation.
        doc: String,
    },
    /// No kernel serves the problem on the device.
    #[error("no kernel serves this call\n{0}")]
    NoKernel(Box<Selection>),
    /// The policy refuses the fallback that would have been chosen.
    #[error("the policy refuses this fallback\n{0}")]
    FallbackRefused(Box<Selection>),
    /// An entry of a provider failed.
    #[error("{provider}: {entry} failed: {}{}", status_text(*status), if words.is_empty() { String::new() } else { format!(": {words}") })]
    Provider {
        /// The provider.
        provider: String,
        /// The ABI entry.
        entry: &'static str,
        /// Its status.
        status: i32,
        /// Its words.
        words: String,
    },
    /// A launch was refused or failed.
    #[error("{kernel} on {device}: launch failed: {}: {words}{}", status_text(*status), if *enqueued == 0 { String::new() } else { format!(" (after {enqueued} device launch(es); its outputs are undefined)") })]
    Launch {
        /// The kernel.
        kernel: String,
        /// The device.
        device: String,
        /// The status.
        status: i32,
        /// The provider's words.
        words: String,
        /// Device launches enqueued before it failed; 0: nothing has run.
        enqueued: u32,
    },
    /// A receipt shows that something else ran than was selected. The call *has* run, and its outputs are not to be trusted.
    #[error("guard lie: {0}")]
    GuardLie(Box<GuardLie>),
    /// An optional entry that the provider does not have.
    #[error("{provider} has no `{entry}`, which this needs")]
    Unsupported {
        /// The provider.
        provider: String,
        /// The ABI entry.
        entry: &'static str,
    },
    /// Work enqueued earlier failed. The stream works again unless the device is lost.
    #[error("{device}: {}: {words}; launches since the last good synchronise: {}", status_text(*status), if launches.is_empty() { "none".into() } else { launches.iter().map(|(k, n)| format!("{k} x{n}")).collect::<Vec<_>>().join(", ") })]
    Async {
        /// The device.
        device: String,
        /// The status.
        status: i32,
        /// The provider's words.
        words: String,
        /// Kernels with calls that were pending, and their numbers.
        launches: Vec<(String, u64)>,
    },
    /// A plan or graph of an older generation.
    #[error("this {what} was made before a provider, a knob or the policy changed: make it again")]
    Stale {
        /// `plan` or `graph`.
        what: &'static str,
    },
    /// A plan, graph or tensor used on a device that it was not made for.
    #[error("this {what} belongs to {got}, and the stream is on {wanted}")]
    WrongDevice {
        /// `plan`, `graph`, `tensor` or `event`.
        what: &'static str,
        /// Its device.
        got: String,
        /// The stream's device.
        wanted: String,
    },
    /// Inside a capture: a kernel that must be prepared first. The capture stays valid.
    #[error(
        "{kernel} was not prepared for this call, and the stream is capturing: prepare first (`Runtime::plan`), then capture"
    )]
    PrepareFirst {
        /// The kernel.
        kernel: String,
    },
    /// Something that a capturing stream cannot do, or a capture that is not there.
    #[error("{what}")]
    Capture {
        /// What, and what to do.
        what: String,
    },
    /// A replay outside the facts that its graph was captured for.
    #[error("{kernel}: {what}; capture again")]
    Crossed {
        /// The captured kernel.
        kernel: String,
        /// Which fact crossed which bound.
        what: String,
    },
    /// A tensor that is not to be written through.
    #[error(
        "the tensor is read-only, and to {what} it would write it: use the tensor that it was made from"
    )]
    ReadOnly {
        /// What was asked for.
        what: &'static str,
    },
    /// Host data of another size than the tensor.
    #[error("the tensor holds {tensor} bytes and the data is {data} bytes long")]
    DataSize {
        /// Bytes that the tensor spans.
        tensor: u64,
        /// Bytes given.
        data: u64,
    },
    /// Something that cannot be: a fault of this library.
    #[error("internal error of overt: {what}")]
    Internal {
        /// What.
        what: String,
    },
}

/// What a lying receipt showed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kernel} on {device} was selected, and its receipt says {said}{}", if owner.is_empty() { String::new() } else { format!(": that is a symbol of {}", owner.join(", ")) })]
pub struct GuardLie {
    /// The kernel selected.
    pub kernel: String,
    /// The device.
    pub device: String,
    /// What the receipt said.
    pub said: String,
    /// Kernels that declare the symbol that ran.
    pub owner: Vec<String>,
}

impl Error {
    pub(crate) fn internal(what: impl Into<String>) -> Error {
        Error::Internal { what: what.into() }
    }

    pub(crate) fn provider(
        provider: &str,
        entry: &'static str,
        status: i32,
        words: String,
    ) -> Error {
        Error::Provider {
            provider: provider.to_owned(),
            entry,
            status,
            words,
        }
    }

    /// Memory of the device or host ran out.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(
            self,
            Error::Provider {
                status: OVERT_E_OUT_OF_MEMORY,
                ..
            } | Error::Launch {
                status: OVERT_E_OUT_OF_MEMORY,
                ..
            }
        )
    }
}

fn devices(known: &[String]) -> String {
    match known {
        [] => "is none".into(),
        [one] => format!("is `{one}`"),
        many => format!("are {}", list(many)),
    }
}

/// A status in words.
pub(crate) fn status_text(status: i32) -> String {
    match status {
        OVERT_OK => "answered without an error, but wrongly".into(),
        OVERT_E_ABI => "ABI mismatch".into(),
        OVERT_E_INVALID => "invalid argument".into(),
        OVERT_E_UNSUPPORTED => "not supported".into(),
        OVERT_E_OUT_OF_MEMORY => "out of memory".into(),
        OVERT_E_DEVICE_LOST => "device lost".into(),
        OVERT_E_LAUNCH => "launch failure".into(),
        OVERT_E_ASYNC => "earlier work failed".into(),
        OVERT_E_NOT_READY => "not ready".into(),
        OVERT_E_PREPARE_FIRST => "prepare first".into(),
        OVERT_E_CAPTURE => "not allowed while capturing".into(),
        OVERT_E_REJECTED => "rejected".into(),
        OVERT_E_MISSING => "something it needs is missing".into(),
        OVERT_E_PANIC => "it panicked".into(),
        OVERT_E_INTERNAL => "internal failure".into(),
        other => format!("unknown status {other}"),
    }
}

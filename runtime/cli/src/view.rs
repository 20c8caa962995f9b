//! The library's answers as serialisable values. The names here are the program's JSON, and stay.

use overt::{DeviceKind, ReasonCause, Selection, Tier};
use serde::Serialize;

/// A selection.
#[derive(Serialize)]
pub struct SelectionView {
    /// The op.
    pub op: String,
    /// The device.
    pub device: String,
    /// Its architecture.
    pub arch: String,
    /// Its kind.
    pub evidence: DeviceKind,
    /// What was chosen.
    pub chosen: Option<ChosenView>,
    /// Present when it is a fallback.
    pub fallback: Option<FallbackView>,
    /// Every other candidate.
    pub rejected: Vec<RejectedView>,
    /// Providers that did not load and whose kernels are not known.
    pub failed_providers: Vec<FailedView>,
}

/// The kernel chosen.
#[derive(Serialize)]
pub struct ChosenView {
    /// Its id.
    pub kernel: String,
    /// Its provider.
    pub provider: String,
    /// Its tier.
    pub tier: Tier,
    /// Its priority.
    pub priority: i32,
    /// Its numeric class.
    pub numeric_class: Option<String>,
}

/// Why a selection is a fallback.
#[derive(Serialize)]
pub struct FallbackView {
    /// The weightiest cause.
    pub cause: ReasonCause,
    /// The better kernels that were passed over.
    pub causes: Vec<CauseView>,
}

/// A better kernel and why it was passed over.
#[derive(Serialize)]
pub struct CauseView {
    /// The kernel.
    pub kernel: String,
    /// The cause.
    pub cause: ReasonCause,
}

/// A candidate that was not chosen.
#[derive(Serialize)]
pub struct RejectedView {
    /// Its id.
    pub kernel: String,
    /// Its provider.
    pub provider: String,
    /// Its tier.
    pub tier: Tier,
    /// It declares the device's architecture.
    pub declares_arch: bool,
    /// All reasons; none: it could serve, and another was preferred.
    pub reasons: Vec<ReasonView>,
    /// What would make it eligible.
    pub would_run_with: Option<String>,
}

/// One reason.
#[derive(Serialize)]
pub struct ReasonView {
    /// What it is about.
    pub cause: ReasonCause,
    /// The reason in words.
    pub text: String,
}

/// A provider that did not load.
#[derive(Serialize)]
pub struct FailedView {
    /// Its name.
    pub provider: String,
    /// Why.
    pub reason: String,
}

impl From<&Selection> for SelectionView {
    fn from(s: &Selection) -> SelectionView {
        SelectionView {
            op: s.op.clone(),
            device: s.device.clone(),
            arch: s.arch.clone(),
            evidence: s.kind,
            chosen: s.chosen.as_ref().map(|c| ChosenView {
                kernel: c.kernel.clone(),
                provider: c.provider.clone(),
                tier: c.tier,
                priority: c.priority,
                numeric_class: c.numeric_class.clone(),
            }),
            fallback: s.fallback.as_ref().map(|f| FallbackView {
                cause: f.cause(),
                causes: f
                    .causes
                    .iter()
                    .map(|(kernel, cause)| CauseView {
                        kernel: kernel.clone(),
                        cause: *cause,
                    })
                    .collect(),
            }),
            rejected: s
                .rejected
                .iter()
                .map(|r| RejectedView {
                    kernel: r.kernel.clone(),
                    provider: r.provider.clone(),
                    tier: r.tier,
                    declares_arch: r.declares_arch,
                    reasons: r
                        .reasons
                        .iter()
                        .map(|reason| ReasonView {
                            cause: reason.cause(),
                            text: reason.to_string(),
                        })
                        .collect(),
                    would_run_with: r.would_run_with(),
                })
                .collect(),
            failed_providers: s
                .failed_providers
                .iter()
                .map(|(provider, reason)| FailedView {
                    provider: provider.clone(),
                    reason: reason.clone(),
                })
                .collect(),
        }
    }
}

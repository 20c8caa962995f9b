//! The result of selecting, complete: what was chosen and why everything else was not.

use crate::guard::{Reason, ReasonCause};
use crate::load::decl::Tier;
use crate::registry::DeviceKind;
use std::fmt;

/// The kernel chosen for a problem on a device, and every other candidate with all its failing clauses.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// The op.
    pub op: String,
    /// The device's name.
    pub device: String,
    /// The device's architecture.
    pub arch: String,
    /// The device's kind: the evidence that a run there would be.
    pub kind: DeviceKind,
    /// What was chosen; `None`: no kernel serves the problem.
    pub chosen: Option<Chosen>,
    /// Present when what was chosen is of a lower tier than another kernel that declares this architecture, or is of another device.
    pub fallback: Option<Fallback>,
    /// The device whose kernel was chosen, where no kernel of `device` serves and the policy allows a host fallback.
    pub served_by: Option<String>,
    /// Every other candidate, in the order of preference.
    pub rejected: Vec<Rejected>,
    /// Providers that did not load and whose kernels are not known: name and reason.
    pub failed_providers: Vec<(String, String)>,
}

/// The kernel chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its id.
    pub kernel: String,
    /// Its provider.
    pub provider: String,
    /// Its tier.
    pub tier: Tier,
    /// Its priority.
    pub priority: i32,
    /// Its numeric class, if it promises one.
    pub numeric_class: Option<String>,
}

/// Why a selection is a fallback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// The better kernels that were passed over, with the cause of each: that of its weightiest reason.
    pub causes: Vec<(String, ReasonCause)>,
}

impl Fallback {
    /// The weightiest cause of all.
    pub fn cause(&self) -> ReasonCause {
        self.causes
            .iter()
            .map(|(_, cause)| *cause)
            .min()
            .unwrap_or(ReasonCause::Problem)
    }
}

/// A candidate that was not chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// Its id.
    pub kernel: String,
    /// Its provider.
    pub provider: String,
    /// Its tier.
    pub tier: Tier,
    /// It declares the device's architecture.
    pub declares_arch: bool,
    /// All reasons. Empty: it could have served, and another was preferred.
    pub reasons: Vec<Reason>,
}

impl Rejected {
    /// What would make it eligible, where all its reasons could be met by a change of the problem, a knob or the policy.
    pub fn would_run_with(&self) -> Option<String> {
        if self.reasons.is_empty() {
            return None;
        }
        let changes: Option<Vec<String>> =
            self.reasons.iter().map(Reason::would_run_with).collect();
        let changes = changes?;
        Some(match changes.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            _ => changes.join(""),
        })
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} ({})", self.op, self.device, self.arch)?;
        match &self.chosen {
            Some(chosen) => write!(f, "  ->  {}   {}", chosen.kernel, chosen.tier)?,
            None => write!(f, "  ->  no kernel")?,
        }
        if let Some(device) = &self.served_by {
            write!(f, " on {device}   HOST")?;
        }
        if let Some(fallback) = &self.fallback {
            let gap = if self.served_by.is_some() { " " } else { "   " };
            write!(f, "{gap}FALLBACK ({})", fallback.cause())?;
        }
        for rejected in &self.rejected {
            write!(f, "\n  not {}   {}", rejected.kernel, rejected.tier)?;
            if rejected.reasons.is_empty() {
                write!(f, "\n      could serve; ranks after the chosen one")?;
            }
            for reason in &rejected.reasons {
                write!(f, "\n      {reason}")?;
            }
            if let Some(changes) = rejected.would_run_with() {
                write!(f, "\n      would run with {changes}")?;
            }
        }
        for (provider, why) in &self.failed_providers {
            write!(
                f,
                "\n  not {provider}   provider did not load: {why} (overt doctor)"
            )?;
        }
        Ok(())
    }
}

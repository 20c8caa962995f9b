//! What the host program allows.

use crate::load::decl::Tier;

/// What to do when a selection is a fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFallback {
    /// Go on.
    Allow,
    /// Go on, and say so once for each kind of selection, as a `tracing` warning.
    Warn,
    /// Refuse, with all reasons. Nothing runs.
    Error,
}

/// A rule about fallbacks. The last rule that fits decides.
#[derive(Clone, Debug, PartialEq)]
pub struct FallbackRule {
    /// Only on this device; `None`: on all.
    pub device: Option<String>,
    /// Only where a kernel of this tier would be chosen; `None`: any.
    pub tier: Option<Tier>,
    /// What to do.
    pub action: OnFallback,
}

/// Only this kernel may serve an op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The op, with version.
    pub op: String,
    /// Only on this device; `None`: on every device of the kernel's provider.
    pub device: Option<String>,
    /// The kernel's id.
    pub kernel: String,
}

/// This kernel may never be chosen. Stronger than a pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The kernel's id.
    pub kernel: String,
    /// Only on this device; `None`: on all.
    pub device: Option<String>,
}

/// What the host program allows. The default warns of fallbacks and forbids serving one device's call on another.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Rules about fallbacks.
    pub fallback: Vec<FallbackRule>,
    /// A call that no kernel of its device serves may be served by a host-addressable device; operands are staged by copies.
    pub host_fallback: bool,
    /// Each row of an op's result has the same bits whatever else is in the batch: only kernels with a numeric class serve, whose guards read
    /// nothing that changes with the batch. What that costs is speed: a kernel for many rows alone is out.
    pub batch_invariant: bool,
    /// Pins.
    pub pins: Vec<Pin>,
    /// Denials.
    pub denials: Vec<Denial>,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy::on_fallback(OnFallback::Warn)
    }
}

impl Policy {
    /// One action for every fallback.
    pub fn on_fallback(action: OnFallback) -> Policy {
        Policy {
            fallback: vec![FallbackRule {
                device: None,
                tier: None,
                action,
            }],
            host_fallback: false,
            batch_invariant: false,
            pins: Vec::new(),
            denials: Vec::new(),
        }
    }

    /// Every fallback is an error.
    pub fn strict() -> Policy {
        Policy::on_fallback(OnFallback::Error)
    }

    /// Adds a pin.
    #[must_use]
    pub fn pin(mut self, op: &str, kernel: &str) -> Policy {
        self.pins.push(Pin {
            op: op.into(),
            device: None,
            kernel: kernel.into(),
        });
        self
    }

    /// Adds a denial.
    #[must_use]
    pub fn deny(mut self, kernel: &str) -> Policy {
        self.denials.push(Denial {
            kernel: kernel.into(),
            device: None,
        });
        self
    }

    /// Allows or forbids serving one device's call on a host-addressable one.
    #[must_use]
    pub fn host_fallback(mut self, allowed: bool) -> Policy {
        self.host_fallback = allowed;
        self
    }

    /// Demands that rows have the same bits whatever else is in the batch, or no longer.
    #[must_use]
    pub fn batch_invariant(mut self, demanded: bool) -> Policy {
        self.batch_invariant = demanded;
        self
    }

    /// Adds a rule about fallbacks.
    #[must_use]
    pub fn rule(mut self, rule: FallbackRule) -> Policy {
        self.fallback.push(rule);
        self
    }

    /// What to do with a fallback to a kernel of `tier` on `device`. `missing`: a better kernel was not loaded or not built, which
    /// no exception of an otherwise strict policy covers.
    pub(crate) fn action(&self, device: &str, tier: Tier, missing: bool) -> OnFallback {
        let here = || {
            self.fallback
                .iter()
                .filter(|r| r.device.as_deref().is_none_or(|d| d == device))
        };
        let strict = here().any(|r| r.action == OnFallback::Error);
        if missing && strict {
            return OnFallback::Error;
        }
        here()
            .rfind(|r| r.tier.is_none_or(|t| t == tier))
            .map_or(OnFallback::Warn, |r| r.action)
    }

    /// The kernel pinned for an op on a device; the last pin that fits.
    pub(crate) fn pinned(&self, op: &str, device: &str) -> Option<&str> {
        self.pins
            .iter()
            .rfind(|p| p.op == op && p.device.as_deref().is_none_or(|d| d == device))
            .map(|p| p.kernel.as_str())
    }

    /// Why a kernel is denied on a device.
    pub(crate) fn denied(&self, kernel: &str, device: &str) -> Option<String> {
        self.denials
            .iter()
            .find(|d| d.kernel == kernel && d.device.as_deref().is_none_or(|x| x == device))
            .map(|d| match &d.device {
                Some(device) => format!("deny {} on {device}", d.kernel),
                None => format!("deny {}", d.kernel),
            })
    }
}

//! What ran: by op, the kernels that served it, how often, and why no better one did.

use crate::forward::Kind;
use overt::{Selection, Tier};
use std::time::Duration;

/// What served one op over the life of an engine.
#[derive(Clone, Debug)]
pub struct KernelEvidence {
    /// The op.
    pub kind: Kind,
    /// Its name, with version.
    pub op: String,
    /// The kernels that completed calls of it.
    pub kernels: Vec<KernelUse>,
    /// Its time in one more run of the last pass, by events.
    pub time: Duration,
}

/// One kernel's part.
#[derive(Clone, Debug)]
pub struct KernelUse {
    /// Its id.
    pub kernel: String,
    /// Its tier.
    pub tier: Tier,
    /// Calls that completed.
    pub completed: u64,
    /// The selection that chose it though there is a better tier, if that ever happened.
    pub fallback: Option<Selection>,
}

/// What ran, after a synchronise.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// By op, in the order of [`Kind::ALL`]; those that were called.
    pub ops: Vec<KernelEvidence>,
    /// Requests in the pass that was timed.
    pub timed: usize,
    /// Passes with each number of calls: what the counts follow from.
    pub expected: Vec<(Kind, u64)>,
}

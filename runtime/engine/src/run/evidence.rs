//! What ran: by op, the kernels that served it, how often, and why no better one did.

use super::engine::Engine;
use crate::error::EngineError;
use crate::forward::Kind;
use overt::{Selection, Tier};
use std::collections::BTreeMap;
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

/// What the engine did so far. Each placement captures and replays its own part of a pass, and all are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Passes through the model.
    pub passes: u64,
    /// Those of them that were captured, which happens once for each number of requests, and again at each crossing.
    pub captures: u64,
    /// Captures because a fact left the interval of the captured one.
    pub crossings: u64,
    /// Replays of captured passes.
    pub replays: u64,
}

impl Engine {
    /// What was done so far.
    pub fn steps(&self) -> Steps {
        let mut steps = self.steps;
        for part in &self.parts {
            let (captures, replays, _) = part.captured();
            steps.captures += captures;
            steps.replays += replays;
            steps.crossings += captures - part.repeated();
        }
        steps
    }

    /// Why a repeated pass was last captured again, or why one cannot be captured and is dispatched call by call.
    pub fn last_crossing(&self) -> Option<String> {
        let mut parts = self.parts.iter();
        parts.find_map(|part| part.captured().2.map(str::to_owned))
    }

    /// Bytes of prepared weights, and of the cache.
    pub fn memory(&self) -> [u64; 2] {
        let weights = self.parts.iter().map(|part| part.weights.bytes()).sum();
        let cache = self.parts.iter().map(|part| part.cache.bytes()).sum();
        [weights, cache]
    }

    /// What ran. Waits for all work, and runs the last pass once more to measure the time of each op; that run is not counted.
    ///
    /// # Errors
    /// What the device says.
    pub fn evidence(&self) -> Result<Evidence, EngineError> {
        let common = self.common();
        let mut times: BTreeMap<Kind, Duration> = BTreeMap::new();
        self.wait()?;
        if let Some(batch) = &self.last {
            for (number, part) in self.parts.iter().enumerate() {
                let before = number.checked_sub(1).map(|n| &self.parts[n]);
                for (kind, time) in part.times(&common, batch, before)? {
                    *times.entry(kind).or_default() += time;
                }
            }
        }
        let tiers: BTreeMap<String, Tier> = self
            .runtime
            .kernels()
            .into_iter()
            .map(|kernel| (kernel.decl.id.clone(), kernel.decl.tier))
            .collect();
        let mut ops = Vec::new();
        for kind in Kind::ALL {
            let seen = self.witnesses.of(kind).seen().map_err(overt::Error::from)?;
            let kernels: Vec<KernelUse> = seen
                .kernels
                .into_iter()
                .map(|(kernel, counts)| KernelUse {
                    tier: tiers.get(&kernel).copied().unwrap_or(Tier::Reference),
                    completed: counts.completed,
                    fallback: self.fallbacks.get(&(kind, kernel.clone())).cloned(),
                    kernel,
                })
                .collect();
            if !kernels.is_empty() {
                ops.push(KernelEvidence {
                    kind,
                    op: self.ops.op(kind).name().to_owned(),
                    kernels,
                    time: times.get(&kind).copied().unwrap_or_default(),
                });
            }
        }
        Ok(Evidence {
            ops,
            timed: self.last.as_ref().map_or(0, |batch| batch.seq_lens.len()),
            expected: self.passes.iter().map(|(kind, n)| (*kind, *n)).collect(),
        })
    }
}

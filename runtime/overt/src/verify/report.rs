//! What a sweep found, complete and ready to be printed or written as JSON.

use super::check::Worst;
use crate::load::DeviceKind;
use crate::load::decl::Tier;
use serde::Serialize;

/// The result of a sweep.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Every kernel on every device of its provider, and every kernel of a provider that did not load.
    pub kernels: Vec<KernelReport>,
    /// Ops of providers that bring no oracle.
    pub unverified: Vec<UnverifiedOp>,
}

/// An op that cannot be verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnverifiedOp {
    /// The op.
    pub op: String,
    /// Who brought it.
    pub provider: String,
    /// Its kernels on this device.
    pub kernels: Vec<String>,
    /// The device.
    pub device: String,
}

/// One kernel on one device.
#[derive(Clone, Debug, Serialize)]
pub struct KernelReport {
    /// The kernel's id.
    pub kernel: String,
    /// Its op.
    pub op: String,
    /// The device.
    pub device: String,
    /// The device's kind: what the result is evidence of.
    pub evidence: DeviceKind,
    /// Its tier.
    pub tier: Tier,
    /// Its numeric class, if it promises one.
    pub numeric_class: Option<String>,
    /// What became of it.
    pub state: State,
    /// Geometries of the op that were put to it.
    pub geometries: u64,
    /// Those that it ran, pinned and witnessed.
    pub executed: u64,
    /// Those without work, which it served without a launch.
    pub empty: u64,
    /// Those that its guard rejects, with the reasons. Not passes.
    pub not_eligible: Vec<NotEligible>,
    /// Executed ones that were compared by a sample.
    pub sampled: u64,
    /// Elements compared.
    pub compared: u64,
    /// The element nearest to or farthest beyond its limit.
    pub worst: Option<WorstAt>,
    /// Runs repeated bit for bit, where it declares to be deterministic.
    pub deterministic: Option<Tally>,
    /// Batches run again in part and compared bit for bit, where it declares a numeric class and the op's rows are independent.
    pub batch_invariant: Option<Tally>,
    /// Calls run again with weights in the layout that the kernel packs them in, and compared with the oracle; bit for bit with the
    /// plain ones too, where it declares a numeric class.
    pub packed: Option<Tally>,
    /// Everything that failed.
    pub failures: Vec<Failure>,
    /// Host wall-clock time spent on it, in seconds; comparing included.
    pub seconds: f64,
}

/// What became of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// It ran on at least one geometry, and nothing failed.
    Passed,
    /// Something failed.
    Failed,
    /// It cannot run on this device whatever the problem.
    NotRunnable {
        /// Why: architecture, images, build, load or policy.
        reason: String,
    },
    /// The geometries that a filter left hold nothing that it serves.
    Nothing,
}

/// How many comparisons held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Comparisons made.
    pub compared: u64,
    /// Those that differed.
    pub differed: u64,
}

/// A geometry that a kernel's guard rejects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotEligible {
    /// The geometry.
    pub geometry: String,
    /// All reasons.
    pub reasons: Vec<String>,
}

/// Something that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The geometry; empty where it concerns the kernel as a whole.
    pub geometry: String,
    /// What.
    pub what: String,
}

/// An element and where it was met.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstAt {
    /// The geometry.
    pub geometry: String,
    /// The output.
    pub operand: String,
    /// The element.
    #[serde(flatten)]
    pub worst: Worst,
}

impl Report {
    /// Launches that were checked, over all kernels.
    pub fn executed(&self) -> u64 {
        self.kernels.iter().map(|k| k.executed).sum()
    }

    /// Geometries put to kernels that can run here, over all kernels.
    pub fn planned(&self) -> u64 {
        self.kernels
            .iter()
            .filter(|k| !matches!(k.state, State::NotRunnable { .. }))
            .map(|k| k.geometries)
            .sum()
    }

    /// Kernels that failed.
    pub fn failed(&self) -> impl Iterator<Item = &KernelReport> {
        self.kernels.iter().filter(|k| k.state == State::Failed)
    }
}

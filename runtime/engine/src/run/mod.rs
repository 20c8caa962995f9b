//! Running a model: sequences share passes, pages of the cache, and devices.

mod cache;
mod engine;
mod evidence;
mod expected;
mod options;
mod part;
mod schedule;
mod sequence;

pub(crate) use cache::Cache;
pub use engine::{Engine, Produced};
pub use evidence::{Evidence, KernelEvidence, KernelUse, Steps};
pub use options::{Options, Placement};
pub use sequence::{Finish, Request, Sampling, SequenceId};

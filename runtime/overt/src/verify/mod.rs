//! Verification: calls with seeded operands, dispatched, and held against their oracle.
//!
//! [`Placed`] is one call on a device: its operands are filled, uploaded with poison around and inside everything that is
//! written, dispatched with a [`Witness`](crate::Witness), read back and compared under the op's tolerance. [`Sweep`] does this
//! for every kernel on every device over its op's geometries, with the kernel under test pinned, so that right numbers from
//! another kernel are a failure.
//!
//! A call is checked whole where its oracle is quick enough, and by a seeded sample of output elements where it is not; the
//! number of elements that were compared is part of every result.

mod batch;
mod check;
mod depth;
mod error;
mod foreign;
mod place;
mod report;
mod subject;
mod sweep;
mod walk;
mod wanted;

pub use check::{Check, Damage, OutputCheck, Worst};
pub use depth::Depth;
pub use error::VerifyError;
pub use place::{Placed, Ran};
pub use report::{Failure, KernelReport, NotEligible, Report, State, Tally, UnverifiedOp, WorstAt};
pub use sweep::{Filter, Progress, Sweep};
pub use wanted::Wanted;

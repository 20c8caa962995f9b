//! Guards: clauses compiled for speed, evaluated for explanation, and put into words. Both evaluations rest on the same tests.

mod arch;
mod compile;
mod reason;
mod test;

pub(crate) use arch::admits;
pub(crate) use compile::{Compiled, compile};
pub use reason::{Reason, ReasonCause};
pub(crate) use test::{Test, Verdict, compare};

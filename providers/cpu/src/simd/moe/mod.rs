//! Bodies of mixtures of experts: the choice, and the weighted sum of what experts gave.

mod combine;
mod router;

pub use combine::{CombineArgs, combine};
pub use router::{RouterArgs, router};

//! Counters of what ran, and witnesses over them.

mod counts;
mod shard;
mod witness;

pub use counts::Counts;
pub(crate) use shard::{Cells, MAX_SLOTS, Shard, Shards};
pub use witness::{Witness, WitnessError, Witnessed};

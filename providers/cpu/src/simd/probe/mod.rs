//! Bodies that do one thing at the machine's rate: reading, and multiply-adds.

mod bytes;
mod dots;
mod floats;
mod sum;

pub use bytes::{bytes_avx2, bytes_avx512};
pub use dots::{bytes_vnni, pairs_bf16};
pub use floats::floats;
pub use sum::sum;

/// Values of each factor: eight groups of four.
pub const FACTORS: usize = 32;
/// Products of one output and pass.
const GROUP: usize = 4;
/// Sums that are kept at once: latency times throughput of the multiply-adds of every CPU with these instructions, within sixteen
/// registers.
const CHAINS: usize = 8;

#[cfg(test)]
mod tests;

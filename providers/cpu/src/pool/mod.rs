//! The device's threads.
//!
//! A pool of the provider's own, because of what a decode step is: hundreds of calls of ten to a hundred microseconds, one behind
//! the other. The thread that executes a stream takes part in its own calls, so that nothing is handed over before work begins, and the
//! helpers stay awake for a moment after a call, so that the next one does not pay for waking them.

mod team;
#[cfg(test)]
mod tests;

use overt_sdk::Result;
use std::ops::Range;
use team::Team;

/// Below this many multiply-adds (or comparable steps) handing work to other threads costs more than it saves: about three
/// microseconds of one core.
const WORTH_SHARING: u64 = 16_000;

/// Threads that live as long as the device. Dropping the pool waits until they have ended.
pub struct Pool {
    /// `None` where everything runs on the stream's own thread.
    team: Option<Team>,
    threads: usize,
}

impl Pool {
    /// A pool in which `threads` work at once: the thread that calls, and helpers for the rest.
    pub fn new(threads: usize) -> Result<Self> {
        let threads = threads.max(1);
        Ok(Self {
            team: match threads {
                1 => None,
                _ => Some(Team::new(threads - 1)?),
            },
            threads,
        })
    }

    /// How many threads work at once, at least 1.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "only the vector bodies choose their own grain")
    )]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `f` for ranges that cover `0..count`, at once where the work is worth it. `steps` is the work of one item. Which
    /// ranges there are depends on the pool; a body whose result for an item does not depend on its range stays
    /// batch-invariant.
    ///
    /// Streams take turns: while one has the threads, another waits here, so that no more than [`Self::threads`] share
    /// work at any time. `f` does not call this again.
    pub fn ranges(&self, count: usize, steps: u64, f: impl Fn(Range<usize>) + Sync) {
        match &self.team {
            Some(team) if count > 1 && steps.saturating_mul(count as u64) > WORTH_SHARING => {
                // Several parts for each thread even out their speeds.
                let part = count.div_ceil(self.threads * 4);
                team.run(count.div_ceil(part), |i| {
                    f(i * part..count.min((i + 1) * part));
                });
            }
            _ if count > 0 => f(0..count),
            _ => {}
        }
    }
}

//! The device's threads.
//!
//! The pool's size and stack are always stated, because a pool without them asks the environment.

use overt_sdk::{Error, Result};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Range;
use std::thread::{Builder, JoinHandle};

/// Below this many multiply-adds (or comparable steps) handing work to other threads costs more than it saves: about ten
/// microseconds of one core.
const WORTH_SHARING: u64 = 50_000;

/// Enough for every body: the deepest keeps its arrays in scratch memory.
const STACK_BYTES: usize = 2 << 20;

/// Worker threads that live as long as the device. Dropping the pool waits until they have ended.
pub struct Pool {
    pool: Option<ThreadPool>,
    threads: usize,
    handles: Vec<JoinHandle<()>>,
}

impl Pool {
    /// A pool of `threads` workers; with one, everything runs on the stream's own worker.
    pub fn new(threads: usize) -> Result<Self> {
        let mut handles = Vec::new();
        if threads <= 1 {
            return Ok(Self {
                pool: None,
                threads: 1,
                handles,
            });
        }
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            // Spawned here and not by the pool, which would not let anyone join them.
            .spawn_handler(|worker| {
                let handle = Builder::new()
                    .name(format!("overt-cpu-{}", worker.index()))
                    .stack_size(STACK_BYTES)
                    .spawn(|| {
                        overt_sdk::adopt_thread();
                        worker.run();
                    })?;
                handles.push(handle);
                Ok(())
            })
            .build()
            .map_err(|e| Error::internal(format!("no pool of {threads} threads: {e}")))?;
        Ok(Self {
            pool: Some(pool),
            threads,
            handles,
        })
    }

    /// Number of workers, at least 1.
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
    pub fn ranges(&self, count: usize, steps: u64, f: impl Fn(Range<usize>) + Sync) {
        match &self.pool {
            Some(pool) if count > 1 && steps.saturating_mul(count as u64) > WORTH_SHARING => {
                // Several parts for each worker even out their speeds.
                let part = count.div_ceil(self.threads * 4);
                pool.install(|| {
                    (0..count.div_ceil(part))
                        .into_par_iter()
                        .for_each(|i| f(i * part..count.min((i + 1) * part)));
                });
            }
            _ if count > 0 => f(0..count),
            _ => {}
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.pool = None;
        for handle in self.handles.drain(..) {
            // Bodies' panics are caught by whoever waits for them, so a worker itself does not panic.
            let _ = handle.join();
        }
    }
}

//! The device's threads.
//!
//! The pool's size and stack are always stated, because a pool without them asks the environment.

use overt_sdk::{Error, Result};
use parking_lot::{Condvar, Mutex};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

/// Below this many multiply-adds (or comparable steps) handing work to other threads costs more than it saves: about ten
/// microseconds of one core.
const WORTH_SHARING: u64 = 50_000;

/// Enough for every body: the deepest keeps its arrays in scratch memory.
const STACK_BYTES: usize = 2 << 20;

#[derive(Default)]
struct Alive {
    count: Mutex<usize>,
    changed: Condvar,
}

/// Worker threads that live as long as the device. Dropping the pool waits until they have ended.
pub struct Pool {
    pool: Option<ThreadPool>,
    threads: usize,
    alive: Arc<Alive>,
}

impl Pool {
    /// A pool of `threads` workers; with one, everything runs on the stream's own worker.
    pub fn new(threads: usize) -> Result<Self> {
        let alive = Arc::new(Alive::default());
        if threads <= 1 {
            return Ok(Self {
                pool: None,
                threads: 1,
                alive,
            });
        }
        let (started, ended) = (alive.clone(), alive.clone());
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .stack_size(STACK_BYTES)
            .thread_name(|i| format!("overt-cpu-{i}"))
            .start_handler(move |_| {
                overt_sdk::adopt_thread();
                *started.count.lock() += 1;
            })
            .exit_handler(move |_| {
                *ended.count.lock() -= 1;
                ended.changed.notify_all();
            })
            .build()
            .map_err(|e| Error::internal(format!("no pool of {threads} threads: {e}")))?;
        // All have started before anyone may wait for their end.
        pool.broadcast(|_| ());
        Ok(Self {
            pool: Some(pool),
            threads,
            alive,
        })
    }

    /// Number of workers, at least 1.
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
        if self.pool.take().is_some() {
            let mut count = self.alive.count.lock();
            while *count > 0 {
                self.alive.changed.wait(&mut count);
            }
        }
    }
}

/// Runs `f` with at least `len` numbers of scratch memory that the thread keeps, whose contents do not matter.
pub fn with_scratch<R>(len: usize, f: impl FnOnce(&mut [f32]) -> R) -> R {
    thread_local! {
        static SCRATCH: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
    }
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.len() < len {
            scratch.resize(len, 0.0);
        }
        f(&mut scratch[..len])
    })
}

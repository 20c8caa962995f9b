//! Helpers that join the thread which has work.
//!
//! One word says whether a job is open and how many helpers are in it. The thread with work opens the job, takes parts of it like everyone
//! else, closes it when no part is left, and waits for those that had entered. A helper that comes too late finds the job closed
//! and has nothing to do, so nobody ever waits for a thread that is being woken.

use overt_sdk::{Error, Result};
use parking_lot::{Condvar, Mutex};
use std::any::Any;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::thread::{Builder, JoinHandle, yield_now};
use std::time::{Duration, Instant};

/// Enough for every body: the deepest keeps its arrays in scratch memory. Stated, because a thread without it asks the
/// environment.
const STACK_BYTES: usize = 2 << 20;

/// How long a helper looks for the next job before it sleeps: longer than the serial calls between two shared ones, and
/// short beside what an idle process may cost.
const AWAKE: Duration = Duration::from_micros(200);
/// Looks at the word before a waiting thread begins to offer its processor to others between two looks.
const LOOKS: u32 = 256;

/// The word: entrants in the lower half, the job's number in the upper, odd while it is open.
const ONE_JOB: u64 = 1 << 32;
const ENTRANTS: u64 = ONE_JOB - 1;

fn is_open(word: u64) -> bool {
    word & ONE_JOB != 0
}

/// What the threads share.
struct Shared {
    word: AtomicU64,
    job: UnsafeCell<Option<Job>>,
    /// Helpers asleep or about to be.
    asleep: AtomicUsize,
    bed: Mutex<()>,
    wake: Condvar,
    stop: AtomicBool,
}

// SAFETY: `job` is written only by the thread that holds the turn, while the word says closed without entrants; it is read only by
// entrants of an open job. The word's operations order the two (see `Team::run` and `Shared::enter`).
unsafe impl Sync for Shared {}
// SAFETY: as above; a `Job` is two addresses, which stay valid while the job is open or has entrants.
unsafe impl Send for Shared {}

/// A job behind its lifetime: the parts that are left and what to do with each.
#[derive(Clone, Copy)]
struct Job {
    parts: *const Parts,
    run: *const (dyn Fn(usize) + Sync),
}

/// How far a job is.
struct Parts {
    next: AtomicUsize,
    count: usize,
    /// The first panic of a part.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Parts {
    /// Takes parts until none is left. A panic ends the job: what is left is not begun.
    fn take_all(&self, run: &(dyn Fn(usize) + Sync)) {
        let taken = catch_unwind(AssertUnwindSafe(|| {
            loop {
                let i = self.next.fetch_add(1, Relaxed);
                if i >= self.count {
                    return;
                }
                run(i);
            }
        }));
        if let Err(thrown) = taken {
            self.next.store(self.count, Relaxed);
            self.panic.lock().get_or_insert(thrown);
        }
    }
}

/// Helper threads, and the turn of whoever uses them.
pub struct Team {
    shared: Arc<Shared>,
    /// Held by the thread whose job it is.
    turn: Mutex<()>,
    threads: Vec<JoinHandle<()>>,
}

impl Team {
    /// Starts `helpers` threads.
    pub fn new(helpers: usize) -> Result<Self> {
        let mut team = Self {
            shared: Arc::new(Shared {
                word: AtomicU64::new(0),
                job: UnsafeCell::new(None),
                asleep: AtomicUsize::new(0),
                bed: Mutex::new(()),
                wake: Condvar::new(),
                stop: AtomicBool::new(false),
            }),
            turn: Mutex::new(()),
            threads: Vec::with_capacity(helpers),
        };
        for index in 0..helpers {
            let shared = team.shared.clone();
            let thread = Builder::new()
                .name(format!("overt-cpu-{index}"))
                .stack_size(STACK_BYTES)
                .spawn(move || {
                    overt_sdk::adopt_thread();
                    shared.help();
                })
                // What was started already ends when `team` is dropped.
                .map_err(|e| Error::internal(format!("no thread {index} of {helpers}: {e}")))?;
            team.threads.push(thread);
        }
        Ok(team)
    }

    /// Calls `run` once for each of `0..count`, on this thread and on those helpers that are awake in time. Waits for its turn first. A panic of
    /// `run` ends the job and continues here.
    pub fn run(&self, count: usize, run: impl Fn(usize) + Sync) {
        let parts = Parts {
            next: AtomicUsize::new(0),
            count,
            panic: Mutex::new(None),
        };
        let run: &(dyn Fn(usize) + Sync) = &run;
        {
            let _turn = self.turn.lock();
            // SAFETY: only the lifetime is changed. The job is closed and left by all before `parts` and `run` end: `close` below
            // is reached however the parts end, since `take_all` catches panics.
            let run = unsafe {
                std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(run)
            };
            self.shared.open(Job { parts: &parts, run }, count - 1);
            parts.take_all(run);
            self.shared.close();
        }
        if let Some(thrown) = parts.panic.into_inner() {
            resume_unwind(thrown);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        {
            let _bed = self.shared.bed.lock();
            self.shared.wake.notify_all();
        }
        for thread in self.threads.drain(..) {
            // Panics of parts are caught, so a helper itself does not panic.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Opens a job and wakes up to `wanted` sleepers. The caller has the turn.
    fn open(&self, job: Job, wanted: usize) {
        // SAFETY: the last job was closed and left by all entrants before the turn passed on, so nobody reads.
        unsafe { *self.job.get() = Some(job) };
        // Sequentially consistent against `asleep`: either a helper that lies down sees the job, or it is seen here.
        self.word.fetch_add(ONE_JOB, SeqCst);
        let asleep = self.asleep.load(SeqCst);
        if asleep > 0 {
            let _bed = self.bed.lock();
            for _ in 0..asleep.min(wanted) {
                self.wake.notify_one();
            }
        }
    }

    /// Closes the job and waits for its entrants.
    fn close(&self) {
        self.word.fetch_add(ONE_JOB, AcqRel);
        let mut looks = 0;
        // Acquire: what entrants did is seen once they have left.
        while self.word.load(Acquire) & ENTRANTS != 0 {
            looks += 1;
            if looks < LOOKS {
                spin_loop();
            } else {
                yield_now();
            }
        }
    }

    /// Becomes an entrant of the open job, if there is one.
    fn enter(&self) -> Option<Job> {
        let mut word = self.word.load(Acquire);
        while is_open(word) {
            match self
                .word
                .compare_exchange_weak(word, word + 1, Acquire, Acquire)
            {
                // SAFETY: the job was written before the word said open, and is not written again before this entrant has left.
                Ok(_) => return unsafe { *self.job.get() },
                Err(now) => word = now,
            }
        }
        None
    }

    /// A helper's life.
    fn help(&self) {
        let mut last = u64::MAX;
        while self.wait_for_other_than(last) {
            let Some(job) = self.enter() else { continue };
            last = self.word.load(Relaxed) & !ENTRANTS;
            // SAFETY: the thread that opened the job keeps both until its entrants have left.
            let (parts, run) = unsafe { (&*job.parts, &*job.run) };
            parts.take_all(run);
            // Release: the parts done here are seen by whoever finds no entrants.
            self.word.fetch_sub(1, Release);
        }
    }

    /// Waits until a job is open that is not `last`, which this helper has emptied already. `false` when the team ends.
    fn wait_for_other_than(&self, last: u64) -> bool {
        let fresh = |word: u64| is_open(word) && word & !ENTRANTS != last;
        let mut looks = 0;
        let mut since = None;
        loop {
            if self.stop.load(Relaxed) {
                return false;
            }
            if fresh(self.word.load(Relaxed)) {
                return true;
            }
            looks += 1;
            if looks < LOOKS {
                spin_loop();
            } else if since.get_or_insert_with(Instant::now).elapsed() < AWAKE {
                yield_now();
            } else {
                let mut bed = self.bed.lock();
                self.asleep.fetch_add(1, SeqCst);
                while !fresh(self.word.load(SeqCst)) && !self.stop.load(SeqCst) {
                    self.wake.wait(&mut bed);
                }
                self.asleep.fetch_sub(1, SeqCst);
                (looks, since) = (0, None);
            }
        }
    }
}

//! The queue between a stream and its worker.

use super::body::JobData;
use super::command::{Command, Failure, execute};
use super::device::HostShared;
use super::float_state;
use crate::{Error, Result};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;

/// A sleeping worker is woken when this many commands wait: waking costs about a microsecond, enqueueing far less.
const WAKE_AT: usize = 8;
/// Commands for which there is room from the start, so that how far a worker lags behind does not decide whether enqueueing
/// allocates.
pub(crate) const ROOM: usize = 256;
/// Jobs kept for reuse. More would only be reached by a burst.
pub(crate) const KEPT_JOBS: usize = 1024;

#[derive(Default)]
pub(crate) struct State {
    pub(crate) pending: VecDeque<Command>,
    /// Empty, with room: takes the place of `pending` while a batch is executed.
    spare: VecDeque<Command>,
    /// Empty, with room: gathers the jobs of a batch.
    #[expect(clippy::vec_box, reason = "as `free`")]
    used: Vec<Box<JobData>>,
    #[expect(
        clippy::vec_box,
        reason = "jobs move between lists and commands as one pointer, not as their hundreds of bytes"
    )]
    pub(crate) free: Vec<Box<JobData>>,
    pub(crate) submitted: u64,
    pub(crate) completed: u64,
    pub(crate) failure: Option<Failure>,
    /// A thread executes a batch; no other does until it is done.
    running: bool,
    parked: bool,
    pub(crate) stop: bool,
}

pub(crate) struct Queue {
    shared: Arc<HostShared>,
    pub(crate) state: Mutex<State>,
    /// The worker waits on it for commands.
    pub(crate) work: Condvar,
    /// Hosts wait on it for completion.
    pub(crate) done: Condvar,
}

impl Queue {
    /// An empty queue.
    pub(crate) fn new(shared: &Arc<HostShared>) -> Self {
        let state = State {
            pending: VecDeque::with_capacity(ROOM),
            spare: VecDeque::with_capacity(ROOM),
            used: Vec::with_capacity(ROOM),
            free: Vec::with_capacity(ROOM),
            ..State::default()
        };
        Self {
            shared: shared.clone(),
            state: Mutex::new(state),
            work: Condvar::new(),
            done: Condvar::new(),
        }
    }

    /// Enqueues commands together.
    pub(crate) fn push(&self, commands: impl ExactSizeIterator<Item = Command>) {
        let mut state = self.state.lock();
        state.submitted += commands.len() as u64;
        state.pending.extend(commands);
        if state.parked && state.pending.len() >= WAKE_AT {
            self.work.notify_one();
        }
    }

    fn wake(&self, state: &State) {
        if state.parked && (state.stop || !state.pending.is_empty()) {
            self.work.notify_one();
        }
    }

    pub(crate) fn flush(&self) {
        self.wake(&self.state.lock());
    }

    /// Whether everything is done; the failure, which stays to be reported by a synchronise.
    pub(crate) fn query(&self) -> Result<bool> {
        let state = self.state.lock();
        self.wake(&state);
        match &state.failure {
            Some(failure) => Err(report(failure)),
            None => Ok(state.completed == state.submitted),
        }
    }

    /// Waits until everything that was enqueued before is done.
    pub(crate) fn wait(&self) {
        self.wait_then(|_| ());
    }

    /// Waits, and reports the first failure once.
    pub(crate) fn sync(&self) -> Result<()> {
        match self.wait_then(|state| state.failure.take()) {
            None => Ok(()),
            Some(failure) => Err(report(&failure)),
        }
    }

    fn wait_then<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state.lock();
        let target = state.submitted;
        while state.completed < target {
            // A thread that would only wait executes what the worker has not begun: waking another one, and being woken by it,
            // takes longer than many a call.
            if state.parked && !state.running && !state.pending.is_empty() {
                let caller = float_state::enter();
                self.run_batch(&mut state);
                drop(caller);
            } else {
                self.done.wait(&mut state);
            }
        }
        // What others enqueued meanwhile, whose waking the worker could not follow.
        self.wake(&state);
        f(&mut state)
    }

    /// Executes what is pending, with the lock released meanwhile. Nobody else is running.
    fn run_batch(&self, state: &mut MutexGuard<'_, State>) {
        let mut batch = std::mem::take(&mut state.spare);
        let mut used = std::mem::take(&mut state.used);
        std::mem::swap(&mut batch, &mut state.pending);
        let mut failure = state.failure.clone();
        state.running = true;
        let count = batch.len() as u64;
        MutexGuard::unlocked(state, || {
            for command in batch.drain(..) {
                execute(&command, &self.shared, &mut failure);
                if let Command::Run(job) = command {
                    used.push(job);
                }
            }
        });
        state.running = false;
        state.failure = failure;
        state.completed += count;
        let room = KEPT_JOBS.saturating_sub(state.free.len());
        used.truncate(room);
        state.free.append(&mut used);
        (state.spare, state.used) = (batch, used);
        self.done.notify_all();
    }

    /// The worker's life: executes batches until it is stopped and nothing is left.
    pub(crate) fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if !state.running && !state.pending.is_empty() {
                self.run_batch(&mut state);
            } else if state.stop && !state.running {
                return;
            } else {
                state.parked = true;
                self.work.wait(&mut state);
                state.parked = false;
            }
        }
    }

    /// Whether nothing is pending and nothing has failed, so that work may be done on the caller's thread without being
    /// seen out of order.
    pub(crate) fn idle(&self) -> bool {
        let state = self.state.lock();
        state.completed == state.submitted && state.failure.is_none()
    }
}

fn report(failure: &Failure) -> Error {
    let mut words = failure.words.to_string();
    if failure.skipped > 0 {
        words.push_str(&format!(
            "; {} later commands of the stream were not run",
            failure.skipped
        ));
    }
    Error::asynchronous(words)
}

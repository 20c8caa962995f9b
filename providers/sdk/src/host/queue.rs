//! The queue between a stream and its worker.

use super::body::JobData;
use super::command::{Command, Failure};
use crate::{Error, Result};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;

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
    #[expect(
        clippy::vec_box,
        reason = "jobs move between lists and commands as one pointer, not as their hundreds of bytes"
    )]
    pub(crate) free: Vec<Box<JobData>>,
    pub(crate) submitted: u64,
    pub(crate) completed: u64,
    pub(crate) failure: Option<Failure>,
    pub(crate) parked: bool,
    pub(crate) stop: bool,
}

#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) state: Mutex<State>,
    /// The worker waits on it for commands.
    pub(crate) work: Condvar,
    /// Hosts wait on it for completion.
    pub(crate) done: Condvar,
}

impl Queue {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        let state = State {
            pending: VecDeque::with_capacity(ROOM),
            free: Vec::with_capacity(ROOM),
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            ..Self::default()
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
        if state.parked && !state.pending.is_empty() {
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
        self.wake(&state);
        while state.completed < target {
            self.done.wait(&mut state);
        }
        f(&mut state)
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

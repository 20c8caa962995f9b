//! Events.

use super::queue::Queue;
use crate::{Error, Result};
use parking_lot::{Condvar, Mutex};
use std::sync::{Arc, Weak};
use std::time::Instant;

#[derive(Default)]
struct State {
    /// Number of the last recording that was enqueued.
    issued: u64,
    /// Number of the last recording that was passed.
    passed: u64,
    /// When it was passed.
    at: Option<Instant>,
    /// The failure behind which it was recorded.
    failure: Option<Arc<str>>,
    /// Where the last recording is queued, to be flushed by whoever waits.
    queue: Weak<Queue>,
}

#[derive(Default)]
pub(crate) struct EventInner {
    state: Mutex<State>,
    moved: Condvar,
}

/// A point in a stream. Recording it again moves it.
#[derive(Default)]
pub struct HostEvent {
    pub(crate) inner: Arc<EventInner>,
}

impl EventInner {
    /// Notes a recording about to be enqueued and numbers it.
    pub(crate) fn issue(&self, queue: &Arc<Queue>) -> u64 {
        let mut state = self.state.lock();
        state.issued += 1;
        state.queue = Arc::downgrade(queue);
        state.issued
    }

    /// The recording that a wait enqueued now refers to.
    pub(crate) fn last(&self) -> Result<u64> {
        self.flush();
        match self.state.lock().issued {
            0 => Err(never()),
            issued => Ok(issued),
        }
    }

    /// The worker has reached a recording.
    pub(crate) fn pass(&self, number: u64, failure: Option<Arc<str>>) {
        let mut state = self.state.lock();
        if number > state.passed {
            state.passed = number;
            state.at = Some(Instant::now());
            state.failure = failure;
        }
        self.moved.notify_all();
    }

    /// Blocks a worker until a recording is passed.
    pub(crate) fn wait(&self, number: u64) {
        let mut state = self.state.lock();
        while state.passed < number {
            self.moved.wait(&mut state);
        }
    }

    fn flush(&self) {
        // Upgraded outside the lock below, since flushing takes the queue's lock.
        let queue = self.state.lock().queue.upgrade();
        if let Some(queue) = queue {
            queue.flush();
        }
    }

    pub(crate) fn query(&self) -> Result<bool> {
        self.flush();
        let state = self.state.lock();
        if state.issued == 0 {
            return Err(never());
        }
        if state.passed < state.issued {
            return Ok(false);
        }
        failed(&state)?;
        Ok(true)
    }

    pub(crate) fn sync(&self) -> Result<()> {
        self.flush();
        let mut state = self.state.lock();
        if state.issued == 0 {
            return Err(never());
        }
        let number = state.issued;
        while state.passed < number {
            self.moved.wait(&mut state);
        }
        failed(&state)
    }

    /// When the last recording was passed; `None` while it is pending.
    pub(crate) fn time(&self) -> Result<Option<Instant>> {
        Ok(if self.query()? {
            self.state.lock().at
        } else {
            None
        })
    }
}

fn failed(state: &State) -> Result<()> {
    match &state.failure {
        None => Ok(()),
        Some(words) => Err(Error::asynchronous(words.to_string())),
    }
}

fn never() -> Error {
    Error::invalid("the event was never recorded")
}

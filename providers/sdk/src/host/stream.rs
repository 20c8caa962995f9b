//! Streams: the side that enqueues.

use super::body::JobData;
use super::command::Command;
use super::queue::Queue;
use super::worker::Worker;
use crate::{Error, Result};
use parking_lot::Mutex;
use std::sync::Arc;

/// What the enqueueing thread keeps between calls.
#[derive(Default)]
pub(crate) struct Side {
    /// What was recorded so far, while capturing.
    pub(crate) recording: Option<Vec<Command>>,
    /// Commands of the launch in progress; enqueued together when it succeeds.
    pub(crate) staged: Vec<Command>,
    /// Operand addresses of the launch in progress.
    pub(crate) addresses: Vec<u64>,
    /// Jobs for reuse.
    #[expect(clippy::vec_box, reason = "as `State::free`")]
    pub(crate) jobs: Vec<Box<JobData>>,
}

/// A queue with a worker thread of its own. Dropping it blocks until its work is done.
pub struct HostStream {
    pub(crate) worker: Arc<Worker>,
    pub(crate) side: Mutex<Side>,
    /// The imported null stream: the device's default queue, on which capture is refused.
    pub(crate) default: bool,
}

impl HostStream {
    pub(crate) fn new(worker: Arc<Worker>, default: bool) -> Self {
        Self {
            worker,
            side: Mutex::new(Side::default()),
            default,
        }
    }

    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.worker.queue
    }

    /// Enqueues one command, or records it.
    pub(crate) fn submit(&self, command: Command) {
        let mut side = self.side.lock();
        match &mut side.recording {
            Some(recording) => recording.push(command),
            None => self.queue().push(std::iter::once(command)),
        }
    }

    /// Refuses what a capture cannot hold; the capture stays valid.
    pub(crate) fn not_capturing(&self, what: &str) -> Result<()> {
        if self.side.lock().recording.is_some() {
            return Err(Error::capture(format!(
                "{what} is not possible while the stream captures"
            )));
        }
        Ok(())
    }
}

impl Drop for HostStream {
    fn drop(&mut self) {
        // A default queue outlives this stream, but the stream's own work is to be done.
        self.queue().wait();
    }
}

//! The thread of one stream.

use super::command::{Command, execute};
use super::device::HostShared;
use super::queue::{KEPT_JOBS, Queue, ROOM};
use crate::edge::panic;
use crate::{Error, Result};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Stated rather than left to the standard library, which would read `RUST_MIN_STACK`.
const STACK_BYTES: usize = 2 << 20;

/// A queue and its thread. Dropping it ends the thread after what is pending.
pub(crate) struct Worker {
    pub(crate) queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub(crate) fn start(shared: &Arc<HostShared>) -> Result<Self> {
        let queue = Arc::new(Queue::new());
        let (theirs, shared) = (queue.clone(), shared.clone());
        let thread = std::thread::Builder::new()
            .name("overt-stream".into())
            .stack_size(STACK_BYTES)
            .spawn(move || work(&theirs, &shared))
            .map_err(|e| Error::internal(format!("no thread for the stream: {e}")))?;
        Ok(Self {
            queue,
            thread: Some(thread),
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.queue.state.lock().stop = true;
        self.queue.work.notify_one();
        if let Some(thread) = self.thread.take() {
            // Bodies are caught one by one, so the thread itself does not panic.
            let _ = thread.join();
        }
    }
}

fn work(queue: &Queue, shared: &HostShared) {
    panic::adopt_thread();
    let mut batch = VecDeque::with_capacity(ROOM);
    let mut used = Vec::with_capacity(ROOM);
    loop {
        let mut failure = {
            let mut state = queue.state.lock();
            while state.pending.is_empty() {
                if state.stop {
                    return;
                }
                state.parked = true;
                queue.work.wait(&mut state);
                state.parked = false;
            }
            std::mem::swap(&mut batch, &mut state.pending);
            state.failure.clone()
        };
        let count = batch.len() as u64;
        for command in batch.drain(..) {
            execute(&command, shared, &mut failure);
            if let Command::Run(job) = command {
                used.push(job);
            }
        }
        let mut state = queue.state.lock();
        state.failure = failure;
        state.completed += count;
        let room = KEPT_JOBS.saturating_sub(state.free.len());
        used.truncate(room);
        state.free.append(&mut used);
        queue.done.notify_all();
    }
}

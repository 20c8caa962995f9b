//! The thread of one stream.

use super::device::HostShared;
use super::queue::Queue;
use crate::edge::panic;
use crate::{Error, Result};
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
        let queue = Arc::new(Queue::new(shared));
        let theirs = queue.clone();
        let thread = std::thread::Builder::new()
            .name("overt-stream".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                panic::adopt_thread();
                theirs.work();
            })
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

//! What a queue holds and how a worker executes it.

use super::body::{Job, JobData};
use super::capture::GraphInner;
use super::device::{HostShared, PeerCopy};
use super::event::EventInner;
use crate::edge::panic;
use std::sync::Arc;

/// A stretch of memory, resolved when the command was enqueued.
#[derive(Clone, Copy)]
pub(crate) struct Bytes {
    pub(crate) at: *mut u8,
    pub(crate) len: usize,
}

// SAFETY: an address on its way to the worker; the host keeps the memory until the stream has passed the command.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

pub(crate) enum Command {
    /// Runs a body.
    Run(Box<JobData>),
    /// Writes staged bytes.
    CopyIn(*mut u8, Box<[u8]>),
    /// Copies between two stretches of equal length: source, then target. With a function of its own for a peer's path.
    Copy(Bytes, Bytes, Option<PeerCopy>),
    /// Fills with a byte.
    Fill(Bytes, u8),
    /// Passes an event's recording.
    Record(Arc<EventInner>, u64),
    /// Waits for an event's recording.
    Wait(Arc<EventInner>, u64),
    /// Executes a captured sequence.
    Replay(Arc<GraphInner>),
}

// SAFETY: the raw address of `CopyIn` is like `Bytes`.
unsafe impl Send for Command {}
// SAFETY: executing takes a shared reference and no command changes itself.
unsafe impl Sync for Command {}

/// The first failure of a stream since it was last reported.
#[derive(Clone)]
pub(crate) struct Failure {
    pub(crate) words: Arc<str>,
    /// Commands that were not executed since.
    pub(crate) skipped: u64,
}

/// Executes a command, or skips it behind a failure.
pub(crate) fn execute(command: &Command, shared: &HostShared, failure: &mut Option<Failure>) {
    match command {
        // Events pass and graphs are entered even behind a failure; what a graph holds is skipped one by one.
        Command::Record(event, number) => {
            event.pass(*number, failure.as_ref().map(|f| f.words.clone()));
            return;
        }
        Command::Wait(event, number) => {
            event.wait(*number);
            return;
        }
        Command::Replay(graph) => {
            for command in &graph.commands {
                execute(command, shared, failure);
            }
            return;
        }
        _ => {}
    }
    if let Some(failure) = failure {
        failure.skipped += 1;
        return;
    }
    match command {
        Command::Run(job) => {
            if let Err(words) = run(job, shared) {
                *failure = Some(Failure {
                    words: words.into(),
                    skipped: 0,
                });
            }
        }
        // SAFETY: the stretches were bounds-checked against live allocations, or are host memory that the caller vouched for; the
        // host keeps both until the stream has passed this. `copy` allows overlap.
        Command::CopyIn(target, staged) => unsafe {
            std::ptr::copy(staged.as_ptr(), *target, staged.len());
        },
        Command::Copy(source, target, None) => {
            // SAFETY: as above.
            unsafe { std::ptr::copy(source.at, target.at, source.len) }
        }
        // SAFETY: as above.
        Command::Copy(source, target, Some(copy)) => unsafe {
            copy(target.at, source.at, source.len);
        },
        // SAFETY: as above.
        Command::Fill(bytes, value) => unsafe {
            std::ptr::write_bytes(bytes.at, *value, bytes.len);
        },
        Command::Record(..) | Command::Wait(..) | Command::Replay(..) => {}
    }
}

fn run(job: &JobData, shared: &HostShared) -> Result<(), String> {
    let symbol = job.body.symbol;
    shared.recorder.executed(symbol);
    let result = panic::catch(|| {
        job.call.with(|call| {
            (job.body.run)(&Job {
                call,
                grid: job.grid,
                params: &job.params[..job.param_count],
                context: &*shared.context,
            })
        })
    });
    match result {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error)) | Err(error)) => Err(format!("`{symbol}` failed: {error}")),
        Err(words) => Err(format!("`{symbol}` panicked: {words}")),
    }
}

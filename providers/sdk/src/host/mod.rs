//! A backend for devices that execute on host memory: the CPU, interpreters, and fakes in tests.
//!
//! [`HostDevice`] implements every entry of the ABI. Its streams are real queues, each with a worker thread of its own, so
//! everything that is asynchronous on a GPU is asynchronous here: a launch returns before its body has run, a failure
//! surfaces at the next synchronise, and an event is passed when the worker reaches it.
//!
//! # How a kernel runs
//!
//! A [`Body`] is a symbol, the image that holds it, and a function. A kernel's launch function gets a [`Launch`] and calls
//! [`Launch::run`] with a body. The receipt is made from that very body, and there is no other way to make one here: a
//! launch that enqueues another body is seen as such.
//!
//! # When work starts
//!
//! Enqueueing wakes a sleeping worker only when several commands wait, since waking costs more than enqueueing. Everything that
//! waits or asks (`stream_flush`, `stream_query`, `stream_sync`, an event recorded, asked for or waited on, a copy to the host) wakes it,
//! as the ABI says of flushing.
//!
//! # Failures
//!
//! After a body fails or panics, later bodies and copies of the stream are skipped until the failure has been reported by a
//! synchronising entry, because their inputs may be what the failed one did not write. Events still pass, and answer with the
//! failure when asked. The worker survives.

mod body;
mod capture;
mod command;
mod device;
mod enqueue;
mod event;
mod float_state;
mod formats;
#[cfg(target_os = "linux")]
mod large_pages;
mod launch;
mod memory;
mod peer;
#[cfg(target_os = "linux")]
mod pool;
mod queue;
mod recorder;
mod stream;
mod view;
mod worker;

pub use body::{Body, Context, HostKernel, HostPlan, HostWeights, Job};
pub use capture::HostGraph;
pub use device::{HostDevice, PeerCopy};
pub use event::HostEvent;
pub use launch::Launch;
pub use recorder::Recorder;
pub use stream::HostStream;
pub use view::HostView;

//! Launching: streams, plans, captures, and what keeps them honest.

mod cache;
mod checked;
mod event;
mod graph;
mod host;
mod pack;
mod plan;
mod receipt;
mod shapes;
mod step;
mod stream;
mod transfer;
mod workspace;

pub use event::Event;
pub use graph::{Capture, Graph};
pub(crate) use pack::PackCache;
pub use plan::Plan;
pub use receipt::Receipt;
pub use step::Step;
pub use stream::{Launched, Stream};
pub use transfer::PeerAccess;

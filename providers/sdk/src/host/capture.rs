//! Captured sequences.

use super::command::Command;
use std::sync::Arc;

pub(crate) struct GraphInner {
    pub(crate) commands: Vec<Command>,
    pub(crate) launches: u32,
}

/// A captured sequence, ready to be executed any number of times. Its jobs hold their own copy of each call; the memory that
/// they work on is kept by the host.
pub struct HostGraph {
    pub(crate) inner: Arc<GraphInner>,
}

impl HostGraph {
    pub(crate) fn new(commands: Vec<Command>) -> Self {
        let launches = commands
            .iter()
            .filter(|c| matches!(c, Command::Run(_)))
            .count() as u32;
        Self {
            inner: Arc::new(GraphInner { commands, launches }),
        }
    }
}

//! A repeated step: captured once, replayed while it can be, captured again when a fact crosses.

use super::graph::Graph;
use super::stream::Stream;
use crate::bind::{Bound, Call};
use crate::error::Error;

/// A sequence of calls that is run again and again, as a decode step is. The first run dispatches (so that kernels are ready) and
/// captures; later ones replay, without selecting anything, until an operand, an attribute or a bound leaves what was captured.
/// Then it plans and captures again, and counts that. On a device that cannot capture, every run dispatches.
#[derive(Debug, Default)]
pub struct Step {
    graph: Option<Graph>,
    captures: u64,
    replays: u64,
    crossed: Option<String>,
    direct: bool,
}

impl Step {
    /// A step that was never run.
    pub fn new() -> Step {
        Step::default()
    }

    /// Runs the calls in order: by a replay where the captured graph covers them, else by capturing anew.
    pub fn run(&mut self, stream: &Stream, calls: &[&Call<'_>]) -> Result<(), Error> {
        if self.direct {
            return dispatch(stream, calls);
        }
        if let Some(graph) = &self.graph {
            match graph.replay_for(stream, calls) {
                Ok(()) => {
                    self.replays += 1;
                    return Ok(());
                }
                Err(error @ (Error::Crossed { .. } | Error::Stale { .. })) => {
                    self.crossed = Some(error.to_string())
                }
                Err(other) => return Err(other),
            }
        }
        self.capture(stream, calls)
    }

    fn capture(&mut self, stream: &Stream, calls: &[&Call<'_>]) -> Result<(), Error> {
        self.graph = None;
        let wide = calls
            .iter()
            .map(|call| widen(stream, call))
            .collect::<Result<Vec<_>, Error>>()?;
        let capture = match stream.capture() {
            Ok(capture) => capture,
            Err(Error::Unsupported { .. }) => {
                self.direct = true;
                return dispatch(stream, calls);
            }
            Err(other) => return Err(other),
        };
        for call in &wide {
            match stream.dispatch(call) {
                Ok(_) => {}
                Err(Error::PrepareFirst { .. }) => {
                    // Dropping the capture forgets it; a direct run makes every kernel ready for the next one.
                    drop(capture);
                    return dispatch(stream, calls);
                }
                Err(other) => return Err(other),
            }
        }
        let graph = capture.end()?;
        self.captures += 1;
        match graph.replay(stream) {
            // The registry changed meanwhile, and nothing has run. The next run captures anew.
            Err(Error::Stale { .. }) => return dispatch(stream, calls),
            replayed => replayed?,
        }
        self.replays += 1;
        self.graph = Some(graph);
        Ok(())
    }

    /// How often it was captured; each time after the first was a crossing.
    pub fn captures(&self) -> u64 {
        self.captures
    }

    /// How often it was replayed.
    pub fn replays(&self) -> u64 {
        self.replays
    }

    /// What the last crossing was.
    pub fn last_crossing(&self) -> Option<&str> {
        self.crossed.as_deref()
    }

    /// The graph in use.
    pub fn graph(&self) -> Option<&Graph> {
        self.graph.as_ref()
    }
}

fn dispatch(stream: &Stream, calls: &[&Call<'_>]) -> Result<(), Error> {
    calls
        .iter()
        .try_for_each(|call| stream.dispatch(call).map(|_| ()))
}

/// Raises a call's bounds to the end of the interval in which no guard changes its answer.
fn widen<'a>(stream: &Stream, call: &Call<'a>) -> Result<Call<'a>, Error> {
    let mut bound = Bound::new();
    let binder = &call.op.0.binder;
    binder.bind(call, &mut bound)?;
    let (_, table) = stream.runtime.0.table(call.op, &stream.device)?;
    Ok(call.widened(|attr, value| {
        let limit = binder.limit(attr, &bound)?;
        let (_, high) = table.interval(attr, value);
        Some(high.min(limit).max(value))
    }))
}

//! A call made ready: its shaders compiled, and all words but the addresses written.

use super::dispatch::{Dispatch, Source, WORDS};
use crate::device::Pipeline;
use crate::physical::Limits;
use overt_sdk::{CallView, Error, Result};
use std::sync::Arc;

/// The launches of a call, in order.
pub struct Plan {
    steps: Vec<Step>,
}

/// One launch.
pub struct Step {
    pub pipeline: Arc<Pipeline>,
    pub groups: [u32; 3],
    /// Words that are given.
    pub used: usize,
    words: [u32; WORDS],
    addresses: Vec<(usize, Source)>,
}

impl Plan {
    /// Checks and compiles.
    pub fn new(
        dispatches: Vec<Dispatch>,
        limits: &Limits,
        mut compile: impl FnMut(&Dispatch) -> Result<Arc<Pipeline>>,
    ) -> Result<Plan> {
        let mut steps = Vec::with_capacity(dispatches.len());
        for dispatch in dispatches {
            dispatch.check(limits)?;
            steps.push(Step {
                pipeline: compile(&dispatch)?,
                groups: dispatch.groups,
                used: dispatch.used,
                words: dispatch.words,
                addresses: dispatch.addresses,
            });
        }
        Ok(Plan { steps })
    }

    /// The launches.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl Step {
    /// The words of one launch.
    pub fn words(&self, call: &CallView<'_>) -> Result<[u32; WORDS]> {
        let mut words = self.words;
        for (place, source) in &self.addresses {
            let address = match source {
                Source::Operand(number) => call.optional(*number)?.map_or(0, |t| t.address()),
                Source::Workspace(offset) => {
                    let workspace = call
                        .workspace()
                        .ok_or_else(|| Error::invalid("the call comes without its workspace"))?;
                    workspace.address() + offset
                }
            };
            words[*place] = address as u32;
            words[place + 1] = (address >> 32) as u32;
        }
        Ok(words)
    }
}

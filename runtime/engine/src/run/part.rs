//! One device's part of the model, and how a batch passes through it.

use super::cache::Cache;
use super::options::Options;
use crate::error::EngineError;
use crate::forward::{Batch, Buffers, Kind, Ops, Part, Sizes, Views, Witnesses, calls};
use crate::model::{Config, Weights};
use overt::{Call, Device, Error, Event, Runtime, Selection, Step, Stream, Tensor};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// A device's layers with all that they need. Fields are dropped in order: steps and buffers before the stream they were enqueued
/// on.
pub(super) struct DevicePart {
    /// Repeated passes, by the number of requests and whether they draw.
    steps: HashMap<(i64, bool), (Views, Step)>,
    /// Those of them that cannot be captured, and why.
    direct: HashMap<(i64, bool), String>,
    buffers: Buffers,
    pub cache: Cache,
    pub weights: Weights,
    pub stream: Stream,
    /// Behind the work of the last pass.
    passed: Event,
    bytes: Vec<u8>,
}

/// What all parts share.
pub(super) struct Common<'a> {
    pub runtime: &'a Runtime,
    pub config: &'a Config,
    pub ops: &'a Ops,
    pub witnesses: &'a Witnesses,
    pub columns: i64,
}

/// Selections of a lower tier than there is, by op and chosen kernel.
pub(super) type Fallbacks = BTreeMap<(Kind, String), Selection>;

impl DevicePart {
    pub fn new(
        device: &Device,
        common: &Common<'_>,
        stream: Stream,
        weights: Weights,
        cache: Cache,
        options: &Options,
        vocabulary: i64,
    ) -> Result<DevicePart, EngineError> {
        let most = Sizes {
            tokens: options.chunk.max(options.sequences) as i64,
            requests: options.sequences as i64,
            drawn: options.sequences as i64,
            pages: common.columns,
        };
        Ok(DevicePart {
            steps: HashMap::new(),
            direct: HashMap::new(),
            buffers: Buffers::new(
                device,
                common.config,
                &weights,
                options.activations,
                most,
                vocabulary,
            )?,
            cache,
            weights,
            passed: Event::new(device)?,
            stream,
            bytes: Vec::new(),
        })
    }

    /// Views of a batch's tensors.
    pub fn views(&self, common: &Common<'_>, batch: &Batch) -> Result<Views, EngineError> {
        let sizes = batch.sizes(common.columns);
        self.buffers.views(common.config, &self.weights, &sizes)
    }

    /// Enqueues a batch's pass. `before` is the part that it comes from. A batch of one token a request is captured and replayed.
    pub fn pass(
        &mut self,
        common: &Common<'_>,
        batch: &Batch,
        before: Option<&DevicePart>,
        fallbacks: &mut Fallbacks,
    ) -> Result<(), EngineError> {
        let views = self.views(common, batch)?;
        batch.write(&mut self.bytes);
        self.stream.write(&views.control.whole, &self.bytes)?;
        if let Some(before) = before {
            self.take_over(&views, before, common, batch)?;
        }
        let part = Part {
            config: common.config,
            weights: &self.weights,
            cache: &self.cache,
            ops: common.ops,
            witnesses: Some(common.witnesses),
        };
        let requests = batch.seq_lens.len();
        let key = (requests as i64, batch.draws());
        let repeats = batch.ids.len() == requests && batch.last.len() == requests;
        let mut done = false;
        if repeats && !self.direct.contains_key(&key) {
            // The views are kept with the step, since a replay wants the very same.
            let (views, step) = match self.steps.entry(key) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert((views.clone(), Step::new())),
            };
            let calls = calls(&part, views, batch)?;
            let before = step.captures();
            match step.run(&self.stream, &calls.iter().collect::<Vec<_>>()) {
                Ok(()) => done = true,
                // Nothing has run. A call that the host serves cannot be captured, for one; it can still be dispatched.
                Err(Error::Capture { what }) => drop(self.direct.insert(key, what)),
                Err(other) => return Err(other.into()),
            }
            if step.captures() != before {
                note(common, &calls, self.stream.device(), fallbacks)?;
            }
        }
        if !done {
            let calls = calls(&part, &views, batch)?;
            let mut fell = false;
            for call in &calls {
                let launched = self.stream.dispatch(call)?;
                fell |= launched.fallback && {
                    let kernel = launched.kernel(common.runtime);
                    !fallbacks.contains_key(&(common.ops.kind(call), kernel))
                };
            }
            if fell {
                note(common, &calls, self.stream.device(), fallbacks)?;
            }
        }
        self.passed.record(&self.stream)?;
        Ok(())
    }

    /// The residual and what waits to be added to it, from the part before.
    fn take_over(
        &self,
        views: &Views,
        before: &DevicePart,
        common: &Common<'_>,
        batch: &Batch,
    ) -> Result<(), EngineError> {
        let theirs = before.views(common, batch)?;
        let pairs = [
            (&views.residual, &theirs.residual),
            (&views.given, &theirs.given),
        ];
        if self.stream.device().provider() == before.stream.device().provider() {
            match self.copy(before, pairs) {
                // Not every provider has a way between its devices. What is broken rather than missing the host's way reports as well.
                Err(Error::Unsupported { .. } | Error::Provider { .. }) => {}
                other => return Ok(other?),
            }
        }
        // Devices of two providers know no common path, so the bytes go through the host.
        for (target, source) in pairs {
            self.stream
                .write(target, &before.stream.read_vec(source)?)?;
        }
        Ok(())
    }

    /// Copies from the part before, behind its pass: targets, sources.
    fn copy(&self, before: &DevicePart, pairs: [(&Tensor, &Tensor); 2]) -> Result<(), Error> {
        self.stream.wait_for(&before.passed)?;
        for (target, source) in pairs {
            self.stream.copy(target, source)?;
        }
        Ok(())
    }

    /// Captures and replays of the repeated passes, and the last reason for capturing again, or for not capturing at all.
    pub fn captured(&self) -> (u64, u64, Option<&str>) {
        let steps = || self.steps.values().map(|(_, step)| step);
        (
            steps().map(Step::captures).sum(),
            steps().map(Step::replays).sum(),
            self.direct
                .values()
                .map(String::as_str)
                .next()
                .or_else(|| steps().find_map(Step::last_crossing)),
        )
    }

    /// Repeated passes that were captured at all.
    pub fn repeated(&self) -> u64 {
        self.steps
            .values()
            .filter(|(_, step)| step.captures() > 0)
            .count() as u64
    }

    /// The time of each op of a pass, measured by running its calls once more with an event behind each. What a pass writes it writes
    /// again.
    pub fn times(
        &self,
        common: &Common<'_>,
        batch: &Batch,
        before: Option<&DevicePart>,
    ) -> Result<BTreeMap<Kind, Duration>, EngineError> {
        let views = self.views(common, batch)?;
        if let Some(before) = before {
            self.take_over(&views, before, common, batch)?;
        }
        let part = Part {
            config: common.config,
            weights: &self.weights,
            cache: &self.cache,
            ops: common.ops,
            witnesses: None,
        };
        let calls = calls(&part, &views, batch)?;
        let device = self.stream.device();
        let mut events = Vec::with_capacity(calls.len() + 1);
        let mut mark = |stream: &Stream| -> Result<(), Error> {
            let mut event = Event::new(device)?;
            event.record(stream)?;
            events.push(event);
            Ok(())
        };
        mark(&self.stream)?;
        for call in &calls {
            self.stream.dispatch(call)?;
            mark(&self.stream)?;
        }
        self.stream.sync()?;
        let mut times = BTreeMap::new();
        for (call, pair) in calls.iter().zip(events.windows(2)) {
            *times.entry(common.ops.kind(call)).or_default() += pair[1].since(&pair[0])?;
        }
        Ok(times)
    }

    /// The drawn tokens of the last pass; waits for it.
    pub fn tokens(&self, tokens: &Tensor) -> Result<Vec<u32>, EngineError> {
        let bytes = self.stream.read_vec(tokens)?;
        Ok(bytes
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes(b.try_into().expect("four bytes")))
            .collect())
    }
}

/// Keeps the selections among these that are fallbacks.
fn note(
    common: &Common<'_>,
    calls: &[Call<'_>],
    device: &Device,
    fallbacks: &mut Fallbacks,
) -> Result<(), EngineError> {
    for call in calls {
        let selection = common.runtime.explain_call(call, device)?;
        if let (Some(chosen), true) = (&selection.chosen, selection.fallback.is_some()) {
            let key = (common.ops.kind(call), chosen.kernel.clone());
            fallbacks.entry(key).or_insert(selection);
        }
    }
    Ok(())
}

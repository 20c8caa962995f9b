//! The engine.

use super::cache::{Cache, Pages};
use super::evidence::Steps;
use super::expected::expected;
use super::options::Options;
use super::part::{Common, DevicePart, Fallbacks};
use super::schedule::Schedule;
use super::sequence::{Finish, Request, SequenceId};
use crate::error::EngineError;
use crate::forward::{Batch, Kind, Ops, Witnesses};
use crate::gguf::GgufFile;
use crate::model::{self, Config, Loading, Progress};
use overt::Runtime;
use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::path::Path;

/// A model on devices, and the sequences that it continues. One thread uses it at a time.
///
/// ```no_run
/// use overt_engine::{Engine, Options, Request, Sampling};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = overt::Runtime::builder().search(true).start()?;
/// let mut engine = Engine::load(&runtime, "model.gguf".as_ref(), &Options::default())?;
/// engine.add(Request {
///     prompt: vec![1, 2, 3],
///     tokens: 16,
///     sampling: Sampling::default(),
///     stop: vec![0],
/// })?;
/// while engine.is_busy() {
///     for produced in engine.step()? {
///         println!("{:?}: {}", produced.sequence, produced.token);
///     }
/// }
/// # Ok(()) }
/// ```
pub struct Engine {
    // Dropped in order: everything on devices before the file that imported memory lies in.
    pub(super) parts: Vec<DevicePart>,
    pub(super) ops: Ops,
    pub(super) witnesses: Witnesses,
    config: Config,
    schedule: Schedule,
    pub(super) fallbacks: Fallbacks,
    context: usize,
    vocabulary: usize,
    next: u64,
    /// The batch of the last pass, whose data the devices still hold, and how many passes had which calls.
    pub(super) last: Option<Batch>,
    pub(super) passes: BTreeMap<Kind, u64>,
    pub(super) steps: Steps,
    pub(super) runtime: Runtime,
    file: GgufFile,
}

/// A token that was produced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Produced {
    /// Whose.
    pub sequence: SequenceId,
    /// The token.
    pub token: u32,
    /// Set with a sequence's last token.
    pub finish: Option<Finish>,
}

impl Engine {
    /// Loads the model of a GGUF file to devices.
    ///
    /// # Errors
    /// [`EngineError`]: a broken file, a model that is not run here, an impossible option, or a device that refuses.
    pub fn load(runtime: &Runtime, file: &Path, options: &Options) -> Result<Engine, EngineError> {
        Engine::load_file(runtime, GgufFile::open(file)?, options, |_| {
            ControlFlow::Continue(())
        })
    }

    /// Loads the model of an open file. `progress` is told of each tensor, and may end it.
    ///
    /// # Errors
    /// Those of [`Engine::load`], and [`EngineError::Stopped`] where `progress` breaks off.
    pub fn load_file(
        runtime: &Runtime,
        file: GgufFile,
        options: &Options,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Engine, EngineError> {
        options.check()?;
        let contents = file.contents();
        let config = Config::from_gguf(&contents)?;
        model::check(&contents, &config)?;
        let vocabulary = model::vocabulary(&contents)?;
        let ops = Ops::of(runtime, config.gate)?;
        let witnesses = Witnesses::default();
        let context = match options.context {
            0 => config.context.min(4096),
            asked => asked,
        };
        let columns = context.div_ceil(options.page);
        let pages = columns * options.sequences;
        // Their numbers are of 32 bits in the table of pages.
        if i32::try_from(pages).is_err() {
            return Err(EngineError::Option {
                option: "sequences",
                got: format!("{} of {columns} pages each", options.sequences),
                wanted: format!("at most {} pages in all", i32::MAX),
            });
        }
        let devices = runtime.devices();
        let first = devices.first().map_or("", |device| device.name());
        let split = options
            .split(first, config.layers)?
            .into_iter()
            // All are looked up before any is loaded to, which may take minutes.
            .map(|(name, layers)| Ok((runtime.device(&name)?, layers)))
            .collect::<Result<Vec<_>, EngineError>>()?;
        let common = Common {
            runtime,
            config: &config,
            ops: &ops,
            witnesses: &witnesses,
            columns: columns as i64,
        };
        let mut done = Progress {
            done: 0,
            total: model::total(&contents),
            tensor: String::new(),
        };
        let mut parts = Vec::with_capacity(split.len());
        let mut start = 0;
        for (number, (device, layers)) in split.iter().enumerate() {
            let stream = runtime.stream(device)?;
            let loading = Loading {
                file: &file,
                config: &config,
                ops: &ops,
                stream: &stream,
                activations: options.activations,
                rounded: options.int8_activations,
                layers: start..start + layers,
                ends: [number == 0, number + 1 == split.len()],
            };
            let weights = model::load(&loading, &mut |tensor, bytes| {
                done.done += bytes;
                done.tensor = tensor.to_owned();
                match progress(done.clone()) {
                    ControlFlow::Continue(()) => Ok(()),
                    ControlFlow::Break(()) => Err(EngineError::Stopped),
                }
            })?;
            let size = (pages, options.page);
            let cache = Cache::new(device, &config, options.kv, size, start, *layers)?;
            let part =
                DevicePart::new(device, &common, stream, weights, cache, options, vocabulary)?;
            parts.push(part);
            start += layers;
        }
        Ok(Engine {
            parts,
            ops,
            witnesses,
            schedule: Schedule {
                waiting: VecDeque::new(),
                running: Vec::new(),
                pages: Pages::new(pages, options.page),
                sequences: options.sequences,
                chunk: options.chunk,
                page: options.page,
                columns,
            },
            config,
            fallbacks: Fallbacks::new(),
            context,
            vocabulary: vocabulary as usize,
            next: 0,
            last: None,
            passes: BTreeMap::new(),
            steps: Steps::default(),
            runtime: runtime.clone(),
            file,
        })
    }

    /// The model's sizes.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The file that it was loaded from; its metadata holds the vocabulary.
    pub fn file(&self) -> &GgufFile {
        &self.file
    }

    /// Number of tokens, by the table.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// Devices and the numbers of their layers, first to last.
    pub fn placements(&self) -> impl Iterator<Item = (&str, usize)> {
        let part = |part: &'_ DevicePart| part.weights.layers.len();
        self.parts
            .iter()
            .map(move |p| (p.stream.device().name(), part(p)))
    }

    /// Tokens that a sequence can have.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Adds a sequence, which begins when there is room. Where prompt and tokens are more than the context holds, fewer tokens are
    /// produced.
    ///
    /// # Errors
    /// [`EngineError::Prompt`] for an empty prompt and for one that leaves no room for a token, [`EngineError::Token`] for a token outside the
    /// vocabulary, [`EngineError::Option`] for a way of sampling that there is not.
    pub fn add(&mut self, mut request: Request) -> Result<SequenceId, EngineError> {
        request.sampling.check()?;
        let got = request.prompt.len();
        if got == 0 || got >= self.context {
            return Err(EngineError::Prompt {
                got,
                wanted: format!("1 to {}, the context less one", self.context - 1),
            });
        }
        let outside = |token: &u32| *token as usize >= self.vocabulary;
        if let Some(at) = request.prompt.iter().position(outside) {
            return Err(EngineError::Token {
                token: request.prompt[at],
                at,
                vocabulary: self.vocabulary,
            });
        }
        request.tokens = request.tokens.clamp(1, self.context - got);
        let id = SequenceId(self.next);
        self.next += 1;
        self.schedule.waiting.push_back((id, request));
        Ok(id)
    }

    /// Ends a sequence without waiting for its last token. Whether it was still there.
    pub fn cancel(&mut self, id: SequenceId) -> bool {
        let schedule = &mut self.schedule;
        let waiting = schedule.waiting.len();
        schedule.waiting.retain(|(known, _)| *known != id);
        if let Some(place) = schedule.running.iter().position(|s| s.id == id) {
            let mut gone = schedule.running.remove(place);
            schedule.pages.give_back(&mut gone.pages);
            return true;
        }
        schedule.waiting.len() != waiting
    }

    /// Whether any sequence is not finished.
    pub fn is_busy(&self) -> bool {
        !self.schedule.running.is_empty() || !self.schedule.waiting.is_empty()
    }

    /// One pass: each running sequence goes on by a token, or by a part of its prompt. Waits for it. An empty answer means that prompts
    /// are still being taken in, or that nothing is there to do.
    ///
    /// # Errors
    /// What the runtime refuses, before any sequence has moved: the step can be repeated once the cause is gone.
    pub fn step(&mut self) -> Result<Vec<Produced>, EngineError> {
        self.schedule.admit();
        let planned = self.schedule.plan();
        if planned.batch.ids.is_empty() {
            return Ok(Vec::new());
        }
        let tokens = self.pass(&planned.batch)?;
        let outside = |token: &u32| *token as usize >= self.vocabulary;
        if let Some(row) = tokens.iter().position(outside) {
            let sequence = self.schedule.running[planned.drawn[row]].id;
            return Err(EngineError::NoToken { sequence });
        }
        for (place, count) in &planned.taken {
            self.schedule.running[*place].cached += count;
        }
        let mut produced = Vec::with_capacity(tokens.len());
        for (place, token) in planned.drawn.iter().zip(tokens) {
            let sequence = &mut self.schedule.running[*place];
            let finish = sequence.push(token);
            produced.push(Produced {
                sequence: sequence.id,
                token,
                finish,
            });
        }
        for ended in produced.iter().filter(|p| p.finish.is_some()) {
            self.cancel(ended.sequence);
        }
        Ok(produced)
    }

    /// Puts `token` in the place of the last one that a sequence produced, before the next step: for hosts that draw from
    /// [`Engine::logits`] themselves. Whether the sequence is still there and has produced a token.
    ///
    /// # Errors
    /// [`EngineError::Token`] for a token outside the vocabulary.
    pub fn choose(&mut self, id: SequenceId, token: u32) -> Result<bool, EngineError> {
        let vocabulary = self.vocabulary;
        let Some(sequence) = self.schedule.running.iter_mut().find(|s| s.id == id) else {
            return Ok(false);
        };
        let at = sequence.tokens.len();
        if token as usize >= vocabulary {
            return Err(EngineError::Token {
                token,
                at,
                vocabulary,
            });
        }
        Ok(sequence.replace_last(token))
    }

    /// A batch through all parts, and the tokens that it drew. Waits for all of them, however it ends: the next pass writes what this one
    /// reads, and a part that goes on behind another's failure does not know of it.
    fn pass(&mut self, batch: &Batch) -> Result<Vec<u32>, EngineError> {
        // From here on the control data of the pass before are gone.
        self.last = None;
        let enqueued = self.enqueue(batch);
        let waited = self.wait();
        enqueued?;
        waited?;
        self.steps.passes += 1;
        for (kind, count) in expected(&self.config, &self.parts, batch) {
            *self.passes.entry(kind).or_default() += count;
        }
        let tokens = match self.parts.last() {
            Some(last) if !batch.last.is_empty() => {
                last.tokens(&last.views(&self.common(), batch)?.tokens)?
            }
            _ => Vec::new(),
        };
        self.last = Some(batch.clone());
        Ok(tokens)
    }

    fn enqueue(&mut self, batch: &Batch) -> Result<(), EngineError> {
        let common = Common {
            runtime: &self.runtime,
            config: &self.config,
            ops: &self.ops,
            witnesses: &self.witnesses,
            columns: self.schedule.columns as i64,
        };
        for number in 0..self.parts.len() {
            let (before, rest) = self.parts.split_at_mut(number);
            rest[0].pass(&common, batch, before.last(), &mut self.fallbacks)?;
        }
        Ok(())
    }

    /// Waits for every part, and reports the failure of the first that has one: those behind it worked on what it left.
    pub(super) fn wait(&self) -> Result<(), EngineError> {
        let mut result = Ok(());
        for part in &self.parts {
            result = result.and(part.stream.sync());
        }
        Ok(result?)
    }

    /// Logits of the last step, a row for each token that it produced, in that order: `[produced, vocabulary]`. None where it produced
    /// none or failed.
    ///
    /// # Errors
    /// What the device says.
    pub fn logits(&self) -> Result<Vec<f32>, EngineError> {
        let (Some(batch), Some(part)) = (&self.last, self.parts.last()) else {
            return Ok(Vec::new());
        };
        if batch.last.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = part
            .stream
            .read_vec(&part.views(&self.common(), batch)?.logits)?;
        Ok(bytes
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes(b.try_into().expect("four bytes")))
            .collect())
    }

    pub(super) fn common(&self) -> Common<'_> {
        Common {
            runtime: &self.runtime,
            config: &self.config,
            ops: &self.ops,
            witnesses: &self.witnesses,
            columns: self.schedule.columns as i64,
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // What fails here was not waited for by anybody; memory of the file must outlive it all the same.
        let _ = self.wait();
    }
}

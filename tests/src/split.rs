//! The model runner over splits of one small model: what is asked of it, what came of it, and whether the counts are right.

use crate::hostile::Scratch;
use crate::model::Llama;
use overt::Runtime;
use overt_engine::{Engine, EngineError, Kind, Options, Placement, Request, Sampling};
use std::collections::BTreeMap;

/// Tokens of the model.
pub const VOCABULARY: usize = 96;

/// Placements by device and number of layers, 0 for an even part of what is left.
pub fn place(parts: &[(&str, usize)]) -> Vec<Placement> {
    let of = |(device, layers): &(&str, usize)| Placement {
        device: (*device).to_owned(),
        layers: (*layers > 0).then_some(*layers),
    };
    parts.iter().map(of).collect()
}

/// Options for a split: room for four sequences, and passes shorter than most prompts, so that these come in several and mix with
/// decoding.
pub fn options(parts: &[(&str, usize)]) -> Options {
    Options {
        placements: place(parts),
        context: 96,
        sequences: 4,
        chunk: 12,
        page: 4,
        ..Options::default()
    }
}

/// Loads the model: four layers of f32.
pub fn load(runtime: &Runtime, options: &Options) -> Result<Engine, EngineError> {
    load_of(&Llama::default(), runtime, options)
}

/// Loads another model. Its file is gone when this returns; the engine keeps what it needs of it.
pub fn load_of(model: &Llama, runtime: &Runtime, options: &Options) -> Result<Engine, EngineError> {
    let folder = Scratch::new("model");
    let path = model.write(folder.path());
    Engine::load(runtime, &path, options)
}

/// An engine over a split that is possible.
pub fn engine(runtime: &Runtime, parts: &[(&str, usize)]) -> Engine {
    load(runtime, &options(parts)).unwrap_or_else(|error| panic!("{error}"))
}

/// Six sequences of lengths from 1 to 41, so that two wait for room; every other one is drawn and not taken greedily.
pub fn requests() -> Vec<Request> {
    [1, 30, 7, 41, 13, 22]
        .iter()
        .enumerate()
        .map(|(n, length)| Request {
            prompt: (0..*length)
                .map(|i| (i * 7 + n as u32 * 13) % VOCABULARY as u32)
                .collect(),
            tokens: 9 + n,
            sampling: Sampling {
                temperature: if n % 2 == 1 { 0.8 } else { 0.0 },
                top_k: 20,
                seed: n as i64,
                ..Sampling::default()
            },
            stop: Vec::new(),
        })
        .collect()
}

/// What came of a run: by sequence its tokens, each with the bits of its logits.
pub type Got = BTreeMap<u64, Vec<(u32, Vec<u32>)>>;

/// Runs requests to their end. No step may fail.
pub fn run(engine: &mut Engine, requests: &[Request]) -> Got {
    run_through(engine, requests, |error| panic!("{error}"))
}

/// Runs requests to their end, and repeats each step that fails, once somebody was told why.
pub fn run_through(
    engine: &mut Engine,
    requests: &[Request],
    mut failed: impl FnMut(EngineError),
) -> Got {
    let mut numbers = BTreeMap::new();
    for (number, request) in (0u64..).zip(requests) {
        let id = engine.add(request.clone());
        numbers.insert(id.unwrap_or_else(|error| panic!("{error}")), number);
    }
    let logits_of = |engine: &Engine| engine.logits().unwrap_or_else(|error| panic!("{error}"));
    let mut got = Got::new();
    while engine.is_busy() {
        let produced = match engine.step() {
            Ok(produced) => produced,
            Err(error) => {
                failed(error);
                assert!(logits_of(engine).is_empty());
                continue;
            }
        };
        let logits = logits_of(engine);
        assert_eq!(logits.len(), VOCABULARY * produced.len());
        for (one, row) in produced.iter().zip(logits.chunks(VOCABULARY)) {
            assert!(row.iter().all(|v| v.is_finite()));
            let bits = row.iter().map(|v| v.to_bits()).collect();
            let sequence = got.entry(numbers[&one.sequence]).or_default();
            sequence.push((one.token, bits));
        }
    }
    got
}

/// Holds the counts of completed calls against those that the passes demand, and returns them.
pub fn counted(engine: &Engine) -> Vec<(Kind, u64)> {
    let evidence = engine.evidence().unwrap_or_else(|error| panic!("{error}"));
    for (kind, wanted) in &evidence.expected {
        let ran = evidence.ops.iter().filter(|op| op.kind == *kind);
        let ran: u64 = ran.flat_map(|op| &op.kernels).map(|k| k.completed).sum();
        assert_eq!(ran, *wanted, "{kind:?}");
    }
    evidence.expected
}

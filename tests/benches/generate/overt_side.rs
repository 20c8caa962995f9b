//! Overt's process.

use super::RUNS;
use super::report::{Run, Took};
use overt::Runtime;
use overt_engine::text::{SpecialTokens, Tokenizer};
use overt_engine::{Engine, Options, Request, Sampling};
use std::path::Path;
use std::time::Instant;

/// What is read to the models: plain prose, long enough for every prompt.
pub fn text() -> String {
    let sentences = [
        "The harbour lay still in the grey light of the morning, and the boats had not yet gone out.",
        "A man in a blue coat walked along the wall, counting the ropes as his father had done before him.",
        "Nobody in the town remembered when the lighthouse had been built, but everyone knew who had let it fall dark.",
        "In winter the sea came up to the third step of the church, and the children bet on whether it would reach the fourth.",
        "She wrote down every ship that passed, its name, its flag and the hour, in a book with a red cover.",
    ];
    (0..12)
        .flat_map(|_| sentences)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs all, and prints what it took.
pub fn run(model: &Path, threads: usize) {
    let started = Instant::now();
    let runtime = Runtime::builder()
        .knob("cpu.threads", threads.to_string())
        .start()
        .unwrap_or_else(|error| panic!("{error}"));
    let options = Options {
        context: 1024,
        sequences: 1,
        ..Options::default()
    };
    let mut engine =
        Engine::load(&runtime, model, &options).unwrap_or_else(|error| panic!("{error}"));
    let load_seconds = started.elapsed().as_secs_f64();
    let tokenizer =
        Tokenizer::from_gguf(&engine.file().contents()).unwrap_or_else(|error| panic!("{error}"));
    let tokens = tokenizer
        .encode(&text(), SpecialTokens::AsText)
        .unwrap_or_else(|error| panic!("{error}"));
    let runs = RUNS.map(|(prompt, count)| one(&mut engine, &tokens[..prompt], count));
    let [weight_bytes, cache_bytes] = engine.memory();
    let took = Took {
        load_seconds,
        runs: runs.to_vec(),
        peak_bytes: peak(),
        weight_bytes: Some(weight_bytes),
        cache_bytes: Some(cache_bytes),
    };
    let line = serde_json::to_string(&took).unwrap_or_else(|error| panic!("{error}"));
    println!("{line}");
}

fn one(engine: &mut Engine, prompt: &[u32], tokens: usize) -> Run {
    let request = Request {
        prompt: prompt.to_vec(),
        tokens,
        sampling: Sampling::default(),
        stop: Vec::new(),
    };
    let started = Instant::now();
    engine
        .add(request)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut produced = Vec::with_capacity(tokens);
    let mut first = None;
    while engine.is_busy() {
        let step = engine.step().unwrap_or_else(|error| panic!("{error}"));
        produced.extend(step.iter().map(|p| p.token));
        if !produced.is_empty() {
            first.get_or_insert_with(|| started.elapsed().as_secs_f64());
        }
    }
    let all = started.elapsed().as_secs_f64();
    let first_token_seconds = first.unwrap_or(all);
    Run {
        prompt_tokens: prompt.len(),
        first_token_seconds,
        decode_tokens: produced.len() - 1,
        decode_seconds: all - first_token_seconds,
        tokens: produced,
    }
}

fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

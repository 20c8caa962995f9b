//! What a run took.

use super::Options;
use super::evidence::{self, OpEvidence};
use super::run::Run;
use crate::out::{Out, complain};
use overt_engine::{Engine, Finish};
use serde::Serialize;

/// A run.
#[derive(Serialize)]
pub struct Report {
    model: String,
    architecture: &'static str,
    /// Devices and the number of their layers.
    devices: Vec<DeviceReport>,
    texts: Vec<TextReport>,
    time: Time,
    memory: Memory,
    steps: Steps,
    /// What ran, with `--explain`.
    evidence: Option<Vec<OpEvidence>>,
    /// What ended the texts before their time.
    failed: Option<String>,
}

#[derive(Serialize)]
struct DeviceReport {
    device: String,
    layers: usize,
}

#[derive(Serialize)]
struct TextReport {
    prompt_tokens: usize,
    tokens: Vec<u32>,
    text: String,
    /// `stop`, `length`, or nothing where the user ended it.
    finish: Option<&'static str>,
    first_token_seconds: Option<f64>,
}

#[derive(Serialize)]
struct Time {
    load_seconds: f64,
    /// Until every prompt had its first token.
    prompt_seconds: f64,
    prompt_tokens: u64,
    prompt_tokens_per_second: f64,
    /// After that.
    decode_seconds: f64,
    decode_tokens: u64,
    decode_tokens_per_second: f64,
}

#[derive(Serialize)]
struct Memory {
    weight_bytes: u64,
    cache_bytes: u64,
    /// Most that the process had in memory at once, where the system says.
    peak_bytes: Option<u64>,
}

#[derive(Serialize)]
struct Steps {
    passes: u64,
    captures: u64,
    crossings: u64,
    replays: u64,
    last_crossing: Option<String>,
}

impl Report {
    pub fn new(
        options: &Options,
        engine: &Engine,
        run: &Run,
        evidence: Option<Vec<OpEvidence>>,
        failed: Option<String>,
    ) -> Report {
        let [weight_bytes, cache_bytes] = engine.memory();
        let steps = engine.steps();
        // A prompt that was not taken in whole says nothing of the rate.
        let begun = run.texts.iter().filter(|text| text.first_token.is_some());
        let prompt_tokens = begun.map(|text| text.prompt_tokens as u64).sum();
        let rate = |tokens: u64, seconds: f64| match seconds > 0.0 {
            true => tokens as f64 / seconds,
            false => 0.0,
        };
        let (prompts, rest) = (run.prompts.as_secs_f64(), run.rest.as_secs_f64());
        Report {
            model: options.model.display().to_string(),
            architecture: engine.config().architecture.name(),
            devices: engine
                .placements()
                .map(|(device, layers)| DeviceReport {
                    device: device.to_owned(),
                    layers,
                })
                .collect(),
            texts: run
                .texts
                .iter()
                .map(|text| TextReport {
                    prompt_tokens: text.prompt_tokens,
                    tokens: text.tokens.clone(),
                    text: text.text.clone(),
                    finish: text.finish.map(|finish| match finish {
                        Finish::Stop => "stop",
                        Finish::Length => "length",
                    }),
                    first_token_seconds: text.first_token.map(|time| time.as_secs_f64()),
                })
                .collect(),
            time: Time {
                load_seconds: run.load.as_secs_f64(),
                prompt_seconds: prompts,
                prompt_tokens,
                prompt_tokens_per_second: rate(prompt_tokens, prompts),
                decode_seconds: rest,
                decode_tokens: run.rest_tokens,
                decode_tokens_per_second: rate(run.rest_tokens, rest),
            },
            memory: Memory {
                weight_bytes,
                cache_bytes,
                peak_bytes: peak(),
            },
            steps: Steps {
                passes: steps.passes,
                captures: steps.captures,
                crossings: steps.crossings,
                replays: steps.replays,
                last_crossing: engine.last_crossing(),
            },
            evidence,
            failed,
        }
    }

    /// Prints it: as JSON whole; for people the evidence, and on standard error what it took.
    pub fn print(&self, out: &mut Out) {
        if out.is_json() {
            out.value(self, |_| String::new());
            return;
        }
        if let Some(ops) = &self.evidence {
            out.stream("\n");
            out.value(ops, |ops| evidence::text(ops));
        }
        complain(&self.took());
    }

    fn took(&self) -> String {
        let Report {
            time,
            memory,
            steps,
            ..
        } = self;
        let mebibytes = |bytes: u64| format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20));
        let mut text = format!(
            "\nload {:.2} s; prompt {} tokens in {:.2} s, {:.1} tokens/s; then {} tokens in {:.2} s, {:.1} tokens/s\n",
            time.load_seconds,
            time.prompt_tokens,
            time.prompt_seconds,
            time.prompt_tokens_per_second,
            time.decode_tokens,
            time.decode_seconds,
            time.decode_tokens_per_second,
        );
        text.push_str(&format!(
            "memory: weights {}, cache {}",
            mebibytes(memory.weight_bytes),
            mebibytes(memory.cache_bytes)
        ));
        if let Some(peak) = memory.peak_bytes {
            text.push_str(&format!(", peak of the process {}", mebibytes(peak)));
        }
        text.push_str(&format!(
            "; passes {}, captured {}, replayed {}",
            steps.passes, steps.captures, steps.replays
        ));
        if let Some(why) = &steps.last_crossing {
            text.push_str(&format!(
                ", captured again {} time(s), last because {why}",
                steps.crossings
            ));
        }
        text
    }
}

/// Peak resident memory, from what Linux says of this process.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

//! What engines took, round by round, and how it is shown.

use serde::{Deserialize, Serialize};
use std::process::Command;

/// One run of an engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    pub prompt_tokens: usize,
    pub first_token_seconds: f64,
    pub decode_tokens: usize,
    pub decode_seconds: f64,
    pub tokens: Vec<u32>,
}

/// One process of an engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Took {
    pub load_seconds: f64,
    pub runs: Vec<Run>,
    pub peak_bytes: Option<u64>,
    #[serde(default)]
    pub weight_bytes: Option<u64>,
    #[serde(default)]
    pub cache_bytes: Option<u64>,
}

/// A line of the report, its value, and whether more is better.
type Figure = (&'static str, fn(&Took) -> f64, bool);

struct Engine {
    name: String,
    command: Command,
    took: Vec<Took>,
    failed: Option<String>,
}

/// All engines; Overt first.
pub struct Report {
    threads: usize,
    engines: Vec<Engine>,
}

impl Report {
    pub fn new(threads: usize) -> Report {
        Report {
            threads,
            engines: Vec::new(),
        }
    }

    pub fn engine(&mut self, name: &str, command: &mut Command) {
        let mut own = Command::new(command.get_program());
        own.args(command.get_args());
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                own.env(name, value);
            }
        }
        self.engines.push(Engine {
            name: name.into(),
            command: own,
            took: Vec::new(),
            failed: None,
        });
    }

    /// Runs each engine once; the order turns from round to round, so that none always runs behind another.
    pub fn round(&mut self, run: &dyn Fn(&mut Command) -> Result<Took, String>) {
        let count = self.engines.len();
        let round = self.engines.iter().map(|e| e.took.len()).max().unwrap_or(0);
        for place in 0..count {
            let engine = &mut self.engines[(place + round) % count];
            if engine.failed.is_some() {
                continue;
            }
            match run(&mut engine.command) {
                Ok(took) => engine.took.push(took),
                Err(why) => engine.failed = Some(why),
            }
        }
    }

    /// Medians, the span from least to greatest, and Overt's rate over each engine's within a round.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{} threads; median of rounds [least to greatest]\n",
            self.threads
        );
        let figures: [Figure; 7] = [
            ("load, s", |t| t.load_seconds, false),
            ("prompt of 32, tokens/s", |t| prompt(t, 1), true),
            ("decode behind 32, tokens/s", |t| decode(t, 1), true),
            ("prompt of 500, tokens/s", |t| prompt(t, 2), true),
            ("decode behind 500, tokens/s", |t| decode(t, 2), true),
            (
                "first token of 500, s",
                |t| t.runs[2].first_token_seconds,
                false,
            ),
            ("peak memory, MiB", |t| mebibytes(t.peak_bytes), false),
        ];
        for (name, figure, rate) in figures {
            text.push_str(&format!("\n{name}\n"));
            for engine in &self.engines {
                text.push_str(&format!("  {:<28}", engine.name));
                if let Some(why) = &engine.failed {
                    text.push_str(&format!("failed: {why}\n"));
                    continue;
                }
                let values: Vec<f64> = engine.took.iter().map(figure).collect();
                text.push_str(&span(&values));
                let own = self.engines.first().map(|e| e.took.as_slice());
                if let (true, Some(own)) = (rate && engine.name != "overt", own) {
                    let ratios: Vec<f64> = own
                        .iter()
                        .zip(&values)
                        .map(|(own, theirs)| figure(own) / theirs)
                        .collect();
                    text.push_str(&format!("   overt is {} times", span(&ratios)));
                }
                text.push('\n');
            }
        }
        if let Some(took) = self.engines.first().and_then(|e| e.took.last()) {
            text.push_str(&format!(
                "\novert's weights {:.1} MiB, cache {:.1} MiB; peak less 1.1 times the weights and the cache: {:.1} MiB\n",
                mebibytes(took.weight_bytes),
                mebibytes(took.cache_bytes),
                mebibytes(took.peak_bytes)
                    - 1.1 * mebibytes(took.weight_bytes)
                    - mebibytes(took.cache_bytes)
            ));
        }
        text + &self.agreement()
    }

    /// How far the engines' tokens agree, so that a rate is not that of an engine that computes something else.
    fn agreement(&self) -> String {
        let last = |engine: &Engine| engine.took.last().map(|took| took.runs.clone());
        let Some(own) = self.engines.first().and_then(last) else {
            return String::new();
        };
        let mut text = String::new();
        for engine in &self.engines[1..] {
            let Some(theirs) = last(engine) else { continue };
            for (own, theirs) in own.iter().zip(&theirs).skip(1) {
                let same = own.tokens.iter().zip(&theirs.tokens);
                text.push_str(&format!(
                    "{}: behind a prompt of {} the first {} of {} tokens are the same\n",
                    engine.name,
                    own.prompt_tokens,
                    same.take_while(|(a, b)| a == b).count(),
                    own.tokens.len()
                ));
            }
        }
        text
    }
}

fn prompt(took: &Took, run: usize) -> f64 {
    took.runs[run].prompt_tokens as f64 / took.runs[run].first_token_seconds
}

fn decode(took: &Took, run: usize) -> f64 {
    took.runs[run].decode_tokens as f64 / took.runs[run].decode_seconds
}

fn mebibytes(bytes: Option<u64>) -> f64 {
    bytes.unwrap_or(0) as f64 / f64::from(1 << 20)
}

fn span(values: &[f64]) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.first(), sorted.last()) {
        (Some(least), Some(most)) => {
            let median = sorted[sorted.len() / 2];
            format!("{median:.2} [{least:.2} to {most:.2}]")
        }
        _ => "nothing".into(),
    }
}

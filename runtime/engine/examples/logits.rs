//! Writes the logits of each step, for prompts given as tokens: `logits MODEL PROMPTS.json FOLDER [int8] [KNOB=VALUE ..]`.
//!
//! The file is a list of `{"tokens": [..], "count": N, "forced": [..] or null}`. For prompt `n` the folder gets `n.json`, the tokens that were produced, and
//! `n.f32`, the logits of each step, `[count, vocabulary]`. Where tokens are forced they go on in place of the likeliest, as in a host that draws by
//! itself. With `int8` activations are rounded to 8 bits. Knobs are those of the runtime, as `cpu.threads=2`.

use overt::Runtime;
use overt_engine::{Engine, Options, Request, Sampling};
use serde::Deserialize;
use std::error::Error;
use std::fs;
use std::path::Path;

const USAGE: &str = "usage: logits MODEL PROMPTS.json FOLDER [int8] [KNOB=VALUE ..]";

#[derive(Deserialize)]
struct Prompt {
    tokens: Vec<u32>,
    count: usize,
    forced: Option<Vec<u32>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, model, prompts, folder, rest @ ..] = arguments.as_slice() else {
        return Err(USAGE.into());
    };
    let mut int8 = false;
    let mut builder = Runtime::builder();
    for word in rest {
        match word.split_once('=') {
            None if word == "int8" => int8 = true,
            Some((knob, value)) => builder = builder.knob(knob, value),
            None => return Err(format!("`{word}`; {USAGE}").into()),
        }
    }
    let prompts: Vec<Prompt> = serde_json::from_str(&fs::read_to_string(prompts)?)?;
    let longest = prompts.iter().map(|p| p.tokens.len() + p.count).max();
    let runtime = builder.start()?;
    let options = Options {
        context: longest.unwrap_or(0) + 1,
        sequences: 1,
        int8_activations: int8,
        ..Options::default()
    };
    let mut engine = Engine::load(&runtime, model.as_ref(), &options)?;
    for (number, prompt) in prompts.iter().enumerate() {
        one(&mut engine, prompt, Path::new(folder), number)?;
    }
    Ok(())
}

fn one(
    engine: &mut Engine,
    prompt: &Prompt,
    folder: &Path,
    number: usize,
) -> Result<(), Box<dyn Error>> {
    let id = engine.add(Request {
        prompt: prompt.tokens.clone(),
        tokens: prompt.count,
        sampling: Sampling::default(),
        stop: Vec::new(),
    })?;
    let mut tokens = Vec::with_capacity(prompt.count);
    let mut bytes = Vec::new();
    while engine.is_busy() {
        for produced in engine.step()? {
            bytes.extend(engine.logits()?.into_iter().flat_map(f32::to_le_bytes));
            if let Some(forced) = &prompt.forced {
                engine.choose(id, forced[tokens.len()])?;
            }
            tokens.push(produced.token);
        }
    }
    fs::write(folder.join(format!("{number}.f32")), bytes)?;
    fs::write(
        folder.join(format!("{number}.json")),
        serde_json::to_string(&tokens)?,
    )?;
    Ok(())
}

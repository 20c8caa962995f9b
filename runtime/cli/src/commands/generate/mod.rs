//! `overt generate`: a language model continues prompts.

mod evidence;
mod interrupt;
mod prompt;
mod report;
mod run;

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::out::Out;
use crate::start;
use indicatif::{ProgressBar, ProgressStyle};
use interrupt::Interrupt;
use overt::dtype;
use overt_engine::model::Progress;
use overt_engine::text::{TextError, Tokenizer};
use overt_engine::{Engine, EngineError, Options as EngineOptions, Placement, Request, Sampling};
use report::Report;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

/// Options of `generate`.
#[derive(clap::Args)]
#[command(after_help = "\
Text comes on standard output as it is produced; several prompts run at once, and each text is printed when it is whole. What it
took is said on standard error. The first Ctrl-C ends the texts where they are, the second ends the program.")]
pub struct Options {
    /// A model file: GGUF, of the architecture llama, qwen2, qwen3 or gemma3
    model: PathBuf,
    /// What is said to the model; several run at once
    prompts: Vec<String>,
    /// A file that holds a prompt, `-` for standard input; repeatable
    #[arg(long, short, value_name = "PATH")]
    file: Vec<PathBuf>,
    /// Take prompts as they are, without the model's chat template
    #[arg(long)]
    raw: bool,
    /// What the chat template is told before the prompt
    #[arg(long, value_name = "TEXT", conflicts_with = "raw")]
    system: Option<String>,
    /// Tokens to produce for each prompt at most
    #[arg(long, short = 'n', default_value_t = 256, value_parser = at_least_one())]
    tokens: u64,
    /// Go on behind tokens that end an answer
    #[arg(long)]
    ignore_end: bool,
    /// Logits are divided by it before one is drawn; 0 takes the greatest
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    temperature: f32,
    /// Draw from so many of the likeliest tokens; 0: from all
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    top_k: i32,
    /// Draw from the likeliest tokens whose probabilities reach this sum
    #[arg(long, default_value_t = 1.0)]
    top_p: f32,
    /// Draw from tokens at least so likely, in units of the likeliest
    #[arg(long, default_value_t = 0.0)]
    min_p: f32,
    /// What draws follow from; prompts count on from it
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    seed: i64,
    /// A device and the number of its layers, in the order of the layers; without a number, what the others leave; repeatable
    #[arg(long, value_name = "NAME[=LAYERS]", value_parser = placement)]
    device: Vec<Placement>,
    /// Tokens that a sequence can have; what the longest prompt and --tokens need if not given
    #[arg(long, value_name = "TOKENS")]
    context: Option<usize>,
    /// Tokens of one pass at most
    #[arg(long, value_name = "TOKENS", default_value_t = EngineOptions::default().chunk)]
    chunk: usize,
    /// Sequences that run at once at most
    #[arg(long, value_name = "NUMBER", default_value_t = EngineOptions::default().sequences)]
    sequences: usize,
    /// Tokens of a page of the cache
    #[arg(long, value_name = "TOKENS", default_value_t = EngineOptions::default().page)]
    page: usize,
    /// Type of cached keys, and after a comma of values where it differs
    #[arg(long, value_name = "TYPE[,TYPE]", default_value = "f16", value_parser = cached)]
    kv: [overt::DType; 2],
    /// Round activations to 8 bits before products with weights in block formats: faster for prompts, less exact
    #[arg(long)]
    int8_activations: bool,
    /// Show at the end what ran: each op, its kernels, their tiers, launches and share of the time, and why no better one ran
    #[arg(long)]
    explain: bool,
}

fn at_least_one() -> clap::builder::RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(1..)
}

fn placement(text: &str) -> Result<Placement, String> {
    let (device, layers) = match text.rsplit_once('=') {
        None => (text, None),
        Some((device, count)) => match count.parse() {
            Ok(count) => (device, Some(count)),
            Err(_) => return Err(format!("`{count}` is no number of layers")),
        },
    };
    if device.is_empty() {
        return Err("wanted the name of a device, as `overt devices` shows it".into());
    }
    Ok(Placement {
        device: device.into(),
        layers,
    })
}

fn cached(text: &str) -> Result<[overt::DType; 2], String> {
    let named = |name: &str| {
        dtype::from_name(name).ok_or_else(|| {
            let known: Vec<&str> = dtype::all().map(|(_, name)| name).collect();
            format!("`{name}` is no type; types: {}", known.join(", "))
        })
    };
    let (keys, values) = text.split_once(',').unwrap_or((text, text));
    Ok([named(keys)?, named(values)?])
}

pub fn command(global: &Global, options: &Options, out: &mut Out) -> Result<Exit, Failure> {
    // While prompts are read, perhaps from a terminal, an interrupt ends the program as it always does.
    let texts = prompt::texts(&options.prompts, &options.file)?;
    let interrupt = Interrupt::listen()?;
    let runtime = start::runtime(global)?;
    if let Some(why) = start::no_device(&runtime) {
        return Err(Failure::new(Exit::Nothing, why));
    }
    let started = Instant::now();
    let file = overt_engine::gguf::GgufFile::open(&options.model).map_err(EngineError::from)?;
    let tokenizer = Tokenizer::from_gguf(&file.contents())?;
    let prompts = {
        let template = match options.raw {
            true => None,
            false => prompt::template(&file)?,
        };
        prompt::tokens(
            &tokenizer,
            template.as_ref(),
            options.system.as_deref(),
            &texts,
        )?
    };
    let longest = prompts.iter().map(Vec::len).max().unwrap_or(0);
    let asked = usize::try_from(options.tokens).unwrap_or(usize::MAX);
    let settings = EngineOptions {
        placements: options.device.clone(),
        context: match options.context {
            Some(context) => context,
            None => context(&file, longest.saturating_add(asked))?,
        },
        sequences: options.sequences.min(prompts.len()),
        chunk: options.chunk,
        page: options.page,
        kv: options.kv,
        int8_activations: options.int8_activations,
        ..EngineOptions::default()
    };
    let bar = bar();
    let loaded = Engine::load_file(&runtime, file, &settings, |progress: Progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        bar.set_message(progress.tensor);
        match interrupt.came() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    bar.finish_and_clear();
    let mut engine = match loaded {
        Err(stopped @ EngineError::Stopped) => return Err(stopped.into()),
        loaded => loaded?,
    };
    let rows = engine.vocabulary();
    if rows > tokenizer.count() {
        return Err(Failure::new(
            Exit::Usage,
            format!(
                "{}: the table has {rows} rows and the tokenizer {} tokens; wanted a token for each row",
                options.model.display(),
                tokenizer.count()
            ),
        ));
    }
    let load = started.elapsed();
    let ends = match options.ignore_end {
        true => Vec::new(),
        false => ends(&tokenizer)?,
    };
    let mut ids = Vec::with_capacity(prompts.len());
    for (number, prompt) in prompts.iter().enumerate() {
        ids.push(engine.add(Request {
            prompt: prompt.clone(),
            tokens: asked,
            sampling: Sampling {
                temperature: options.temperature,
                top_k: options.top_k,
                top_p: options.top_p,
                min_p: options.min_p,
                seed: options.seed.wrapping_add(number as i64),
            },
            stop: ends.clone(),
        })?);
    }
    let mut run = run::Run::new(&tokenizer, &prompts, &ids, load);
    let ended = run.go(&mut engine, &interrupt, out);
    // What was produced before a failure is printed, and the failure stays the command's.
    let failed = ended.as_ref().err().map(|failure| failure.message.clone());
    if failed.is_none() || run.produced() {
        let evidence = match (options.explain, &failed) {
            (true, None) => Some(evidence::of(&engine)?),
            _ => None,
        };
        Report::new(options, &engine, &run, evidence, failed).print(out);
    }
    ended?;
    Ok(match interrupt.came() {
        true => Exit::Interrupted,
        false => Exit::Success,
    })
}

/// Room for what is asked, as far as the model was trained to see.
fn context(file: &overt_engine::gguf::GgufFile, wanted: usize) -> Result<usize, Failure> {
    let config = overt_engine::model::Config::from_gguf(&file.contents())?;
    Ok(wanted.saturating_add(1).min(config.context))
}

fn ends(tokenizer: &Tokenizer) -> Result<Vec<u32>, TextError> {
    let count = u32::try_from(tokenizer.count()).unwrap_or(u32::MAX);
    let mut ends = Vec::new();
    for token in 0..count {
        if tokenizer.ends_answer(token)? {
            ends.push(token);
        }
    }
    Ok(ends)
}

fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    let style = "loading {bar:30} {bytes}/{total_bytes} {wide_msg}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_may_name_their_layers_and_types_of_the_cache_may_differ() {
        assert_eq!(placement("cpu").unwrap().layers, None);
        let placed = placement("cpu=12").unwrap();
        assert_eq!((placed.device.as_str(), placed.layers), ("cpu", Some(12)));
        assert!(placement("cpu=many").unwrap_err().contains("many"));
        assert!(placement("=3").is_err());
        assert_eq!(cached("f16").unwrap(), [dtype::F16; 2]);
        assert_eq!(cached("q8_0,f32").unwrap(), [dtype::Q8_0, dtype::F32]);
        assert!(cached("f17").unwrap_err().contains("f17"));
    }
}

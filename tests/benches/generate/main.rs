//! The model runner beside llama.cpp: the same file, the same tokens, the same number of threads, in turn within one run.
//!
//! Each engine runs in a process of its own, so that its memory is its own, and says what it took as one line of JSON. `cargo xtask bench generate`
//! fetches the model and llama.cpp.

mod overt_side;
mod report;

use report::{Report, Took};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Rounds; each runs every engine once.
const ROUNDS: usize = 5;

/// Threads of each engine: the machine's processors.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Asked of each engine: prompt tokens, then tokens to produce. The first is a warm-up.
pub const RUNS: [(usize, usize); 3] = [(8, 4), (32, 128), (500, 64)];

/// Variable that makes this program one engine's process.
const SIDE: &str = "OVERT_BENCH_SIDE";

fn main() {
    let model = PathBuf::from(env::var_os("OVERT_BENCH_MODEL").unwrap_or_else(|| {
        println!(
            "skipped: OVERT_BENCH_MODEL names no model; `cargo xtask bench generate` fetches one"
        );
        std::process::exit(0)
    }));
    if env::var_os(SIDE).is_some() {
        overt_side::run(&model, threads());
        return;
    }
    let python = env::var_os("OVERT_BENCH_PYTHON").map(PathBuf::from);
    let engines: Vec<(&str, Command)> = [
        Some(("overt", own(&model))),
        python
            .as_deref()
            .map(|p| ("llama.cpp", llama(p, &model, false))),
        python
            .as_deref()
            .map(|p| ("llama.cpp, flash attention", llama(p, &model, true))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut report = Report::new(threads());
    for (name, mut command) in engines {
        report.engine(name, &mut command);
    }
    for round in 1..=ROUNDS {
        println!("round {round} of {ROUNDS}");
        report.round(&|command| took(command));
    }
    println!("{}", report.text());
}

fn own(model: &Path) -> Command {
    let mut command = Command::new(env::current_exe().expect("a program has a path"));
    command.env(SIDE, "overt").env("OVERT_BENCH_MODEL", model);
    command
}

fn llama(python: &Path, model: &Path, flash: bool) -> Command {
    let mut command = Command::new(python);
    command
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/benches/generate/llama.py"
        ))
        .arg(model)
        .arg(threads().to_string())
        .arg(if flash { "flash" } else { "plain" })
        .arg(overt_side::text());
    for (prompt, tokens) in RUNS {
        command.arg(format!("{prompt}:{tokens}"));
    }
    command
}

/// Runs an engine and reads what it says.
fn took(command: &mut Command) -> Result<Took, String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().rev().find(|line| line.starts_with('{'));
    match (output.status.success(), line) {
        (true, Some(line)) => serde_json::from_str(line).map_err(|error| error.to_string()),
        _ => Err(format!(
            "{}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

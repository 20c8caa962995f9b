//! Builds, runs and tests everything. `cargo xtask --help` lists the commands.
//!
//! Needs nothing but Rust and a C compiler; what a command needs besides is installed where that is possible, and named with
//! its package where it is not.

mod accuracy;
mod bench;
mod cargo;
mod docs;
mod elf;
mod header;
mod ledger;
mod model;
mod ops_page;
mod peers;
mod providers;
mod run;
mod shader_sources;
mod shaders;
mod sources;
mod test;
mod tools;
mod vulkan;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Nothing was executed where something should have been.
const EXIT_NOTHING_EXECUTED: u8 = 3;

/// Builds, runs and tests Overt.
///
/// Exit codes: 0 success, 1 failure, 2 wrong usage, 3 nothing was executed.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Builds every provider that this machine can build into one folder, with manifests.
    BuildProviders(providers::Options),
    /// Builds the providers and the `overt` program, and runs a shipped workload, or a language model.
    Run(run::Options),
    /// Runs every test, and holds what was executed against what could have been.
    Test(test::Options),
    /// Generates what is derived from the sources, or holds it against them.
    Docs(docs::Options),
    /// Runs benchmarks, all or by name.
    Bench(bench::Options),
    /// Holds a language model's logits and tokens against llama.cpp and an evaluation in f64. A part of `test --long`.
    Accuracy,
    /// Compiles the Vulkan provider's shaders, or holds the compiled ones against their sources.
    Shaders(shaders::Options),
}

/// How a command that ran to its end went.
enum End {
    /// Well.
    Success,
    /// Badly; it has said why.
    Failure,
    /// Nothing was executed; it has said so.
    NothingExecuted,
}

fn main() -> ExitCode {
    let root = root();
    let end: Result<End> = match Cli::parse().command {
        Command::BuildProviders(options) => providers::command(&root, &options),
        Command::Run(options) => run::command(&root, &options),
        Command::Test(options) => test::command(&root, &options),
        Command::Docs(options) => docs::command(&root, &options),
        Command::Bench(options) => bench::command(&root, &options),
        Command::Accuracy => accuracy::command(&root),
        Command::Shaders(options) => shaders::command(&root, &options),
    };
    match end {
        Ok(End::Success) => ExitCode::SUCCESS,
        Ok(End::Failure) => ExitCode::FAILURE,
        Ok(End::NothingExecuted) => ExitCode::from(EXIT_NOTHING_EXECUTED),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's root.
fn root() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

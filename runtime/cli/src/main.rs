//! The `overt` program: a thin layer over the library's public interface.
//!
//! Every command gathers what the library says into one serialisable value, prints it as a table or as JSON, and turns it into
//! an exit code. Nothing is decided here that a host program could not decide by the same calls.

mod args;
mod commands;
mod exit;
mod out;
mod start;
mod table;
mod view;

use args::{Cli, Command};
use clap::Parser;
use exit::{Exit, Failure};
use out::Out;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    start::log(cli.global.verbose);
    let mut out = Out::new(cli.global.json);
    let exit = run(&cli, &mut out).unwrap_or_else(|failure| {
        out.failure(&failure);
        failure.exit
    });
    out.finish(exit).code()
}

fn run(cli: &Cli, out: &mut Out) -> Result<Exit, Failure> {
    let global = &cli.global;
    match &cli.command {
        Command::Doctor => commands::doctor::command(global, out),
        Command::Devices => commands::devices::command(global, out),
        Command::Ops(options) => commands::ops::command(global, options, out),
        Command::Kernels(options) => commands::kernels::command(global, options, out),
        Command::Explain(options) => commands::explain::command(global, options, out),
        Command::Run(options) => commands::run::command(global, options, out),
        Command::Verify(options) => commands::verify::command(global, options, out),
        Command::Generate(options) => commands::generate::command(global, options, out),
    }
}

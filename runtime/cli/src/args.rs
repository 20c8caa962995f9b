//! The command line.

use crate::commands::{explain, generate, kernels, ops, run, verify};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  a check failed: wrong numbers, another kernel than selected, damaged memory
  2  wrong usage: an unknown name, a malformed argument or workload
  3  nothing was executed
  4  no kernel serves the call, or the policy refuses the fallback
  5  a provider or device failed, or a provider that was asked for did not load
  130  Ctrl-C ended it";

/// Lists, explains, runs and verifies kernels of Overt providers.
///
/// Providers are found in the folders of --providers, in OVERT_PROVIDER_PATH, and in `overt-providers` beside this program or in
/// `../lib`; `overt doctor` shows every path and what came of it.
#[derive(Parser)]
#[command(name = "overt", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Args)]
pub struct Global {
    /// A provider library, which must load, or a folder of them; repeatable
    #[arg(long, global = true, value_name = "PATH")]
    pub providers: Vec<PathBuf>,
    /// Look nowhere but in --providers
    #[arg(long, global = true)]
    pub no_search: bool,
    /// Print one JSON value instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do with a fallback
    #[arg(long, global = true, value_enum, default_value = "warn")]
    pub policy: OnFallback,
    /// Never choose this kernel; repeatable
    #[arg(long, global = true, value_name = "KERNEL")]
    pub deny: Vec<String>,
    /// Let only this kernel serve an op; repeatable
    #[arg(long, global = true, value_name = "OP=KERNEL", value_parser = pair)]
    pub pin: Vec<(String, String)>,
    /// Serve a call that its device cannot on a device that the host can address
    #[arg(long, global = true)]
    pub host_fallback: bool,
    /// Demand that a row's bits do not depend on the rest of its batch
    #[arg(long, global = true)]
    pub batch_invariant: bool,
    /// Set a knob; repeatable, the last setting of one wins
    #[arg(long, global = true, value_name = "ID=VALUE", value_parser = pair)]
    pub knob: Vec<(String, String)>,
    /// Hold the contents of integer operands against the op's rules before each dispatch
    #[arg(long, global = true)]
    pub checked: bool,
    /// Say more; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// What to do with a fallback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnFallback {
    /// Go on
    Allow,
    /// Go on and say so
    Warn,
    /// Refuse, with all reasons
    Strict,
}

#[derive(Subcommand)]
pub enum Command {
    /// Every path tried for a provider and what came of it, and what this machine offers
    Doctor,
    /// Devices, as their providers describe them
    Devices,
    /// Ops: schema, who brings them, whether their kernels can be verified
    Ops(ops::Options),
    /// Kernels, those that were not built or not loaded included
    Kernels(kernels::Options),
    /// What would be chosen for a call, and every reason against every other kernel
    Explain(explain::Options),
    /// Dispatches every call of a workload with seeded operands and holds it against the oracle
    Run(run::Options),
    /// Runs every kernel on every device over its op's geometries, pinned and witnessed
    Verify(verify::Options),
    /// Continues prompts with a language model
    Generate(generate::Options),
}

/// `left=right`, split at the first `=`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((left, right)) if !left.is_empty() && !right.is_empty() => {
            Ok((left.to_owned(), right.to_owned()))
        }
        _ => Err("wanted two parts joined by `=`".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed_and_options_stand_before_or_behind_the_command() {
        Cli::command().debug_assert();
        for line in [
            "overt --json --pin add=cpu/add/x --knob a=b=c ops",
            "overt ops --json --pin add=cpu/add/x --knob a=b=c",
        ] {
            let cli = Cli::try_parse_from(line.split(' ')).unwrap();
            assert!(cli.global.json);
            assert_eq!(cli.global.knob, [("a".to_owned(), "b=c".to_owned())]);
        }
        assert!(Cli::try_parse_from(["overt", "--pin", "add", "ops"]).is_err());
    }
}

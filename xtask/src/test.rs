//! `test`: everything, and then whether enough was executed.

use crate::ledger::{Floors, Ledger};
use crate::{End, accuracy, cargo, docs, model, providers, shaders, tools, vulkan};
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

/// Where the tests leave their ledger; see [`crate::ledger`].
pub const LEDGER_VARIABLE: &str = "OVERT_LEDGER_DIR";

/// Set for tests that take long; they are skipped otherwise.
pub const LONG_VARIABLE: &str = "OVERT_TEST_LONG";

/// The file of a real model for the tests that take one; they are skipped without it.
const MODEL_VARIABLE: &str = "OVERT_TEST_MODEL";

/// Options of `test`.
#[derive(clap::Args)]
pub struct Options {
    /// Include the cases that take long.
    #[arg(long)]
    long: bool,
    /// Do not install missing programs; name them and stop.
    #[arg(long)]
    no_install: bool,
    /// Run only tests whose names hold one of these. Floors are not held then.
    filters: Vec<String>,
}

/// The command.
pub fn command(root: &Path, options: &Options) -> Result<End> {
    tools::require(tools::FOR_TESTS, !options.no_install)?;
    let mut clock = Clock::default();
    let whole = options.filters.is_empty();
    if whole {
        docs::check(root)?;
        shaders::check(root)?;
        shaders::validate(root)?;
        clock.stage("generated files");
    }
    let built = providers::build(root, None, "release")?;
    clock.stage("build-providers");

    let target = cargo::metadata(root)?.target_directory;
    let drivers = vulkan::drivers(&target, !options.no_install);
    clock.stage("software drivers");
    if options.long && whole {
        shaders::reproduce(root)?;
        clock.stage("shaders again");
    }

    let ledger_folder = target.join("overt-ledger");
    clear(&ledger_folder)?;
    let tests = cargo_test(root, options, &ledger_folder, &drivers)?;
    clock.stage("cargo test");

    let accurate = if options.long && whole {
        let end = accuracy::command(root)?;
        clock.stage("accuracy");
        matches!(end, End::Success)
    } else {
        true
    };

    let ledger = Ledger::read(&ledger_folder)?;
    let floors_path = root.join("tests/floors.toml");
    let floors = if whole {
        Some(Floors::read(&floors_path)?)
    } else {
        None
    };
    let complaints = ledger.complaints(floors.as_ref());
    println!(
        "\n{} tests passed, {} failed, {} ignored",
        tests.passed, tests.failed, tests.ignored
    );
    for (name, built) in &built {
        if let providers::Built::No(why) = built {
            println!("provider {name} not built: {why}");
        }
    }
    println!("{}", ledger.summary());
    for complaint in &complaints {
        println!("error: {complaint}");
    }
    clock.print();
    if tests.passed + tests.failed == 0 || (whole && ledger.executed() == 0) {
        println!("error: nothing was executed");
        return Ok(End::NothingExecuted);
    }
    // A filter may choose tests that keep no ledger; if it chose cases and all were skipped, nothing was executed.
    if !whole && ledger.executed() == 0 && !ledger.is_empty() {
        println!("error: every chosen case was skipped");
        return Ok(End::NothingExecuted);
    }
    Ok(if tests.success && accurate && complaints.is_empty() {
        End::Success
    } else {
        End::Failure
    })
}

#[derive(Default)]
struct Tests {
    success: bool,
    passed: u64,
    failed: u64,
    ignored: u64,
}

/// Runs `cargo test` over the workspace, passes its output on and counts the results that it prints.
fn cargo_test(root: &Path, options: &Options, ledger: &Path, drivers: &[PathBuf]) -> Result<Tests> {
    let mut command = cargo::cargo(root);
    command
        .args(["test", "--workspace", "--no-fail-fast", "--"])
        .args(&options.filters)
        .env(LEDGER_VARIABLE, ledger)
        .env(
            overt::load::PROVIDER_PATH_VARIABLE,
            providers::default_folder(root)?,
        )
        .env(vulkan::DRIVERS_VARIABLE, std::env::join_paths(drivers)?)
        .stdout(Stdio::piped());
    if options.long {
        let target = cargo::metadata(root)?.target_directory;
        command
            .env(LONG_VARIABLE, "1")
            .env(MODEL_VARIABLE, model::fetch(&target)?);
    } else {
        command.env_remove(LONG_VARIABLE);
    }
    let mut child = command.spawn().context("cargo test cannot be started")?;
    let mut tests = Tests::default();
    let output = child
        .stdout
        .take()
        .context("the output of cargo test is piped")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{line}");
        if let Some((passed, failed, ignored)) = result_line(&line) {
            tests.passed += passed;
            tests.failed += failed;
            tests.ignored += ignored;
        }
    }
    tests.success = child.wait()?.success();
    Ok(tests)
}

/// Numbers of `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn result_line(line: &str) -> Option<(u64, u64, u64)> {
    let counts = line.strip_prefix("test result: ")?;
    let count = |word: &str| -> Option<u64> {
        let before = counts.split(word).next()?;
        before.trim_end().rsplit([' ', '.']).next()?.parse().ok()
    };
    Some((count(" passed")?, count(" failed")?, count(" ignored")?))
}

/// An old ledger would count what was executed some other day.
fn clear(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            return Err(e).with_context(|| folder.display().to_string());
        }
        _ => {}
    }
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}

/// Seconds by stage, for the budget in `docs/ci.md`.
struct Clock {
    last: Instant,
    stages: Vec<(&'static str, f64)>,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock {
            last: Instant::now(),
            stages: Vec::new(),
        }
    }
}

impl Clock {
    fn stage(&mut self, name: &'static str) {
        self.stages.push((name, self.last.elapsed().as_secs_f64()));
        self.last = Instant::now();
    }

    fn print(&self) {
        for (name, seconds) in &self.stages {
            println!("time {name}: {seconds:.1} s");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::result_line;

    #[test]
    fn results_of_the_test_harness_are_counted() {
        let line = "test result: ok. 46 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 10.91s";
        assert_eq!(result_line(line), Some((46, 0, 2)));
        let line = "test result: FAILED. 45 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1s";
        assert_eq!(result_line(line), Some((45, 1, 0)));
        assert_eq!(result_line("test a ... ok"), None);
    }
}

//! Calls of cargo, and what it tells about the workspace.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The cargo that runs this program.
pub fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Runs a command to its end, its output going to the terminal.
pub fn run(command: &mut Command) -> Result<bool> {
    let status = command
        .status()
        .with_context(|| format!("{command:?} cannot be started"))?;
    Ok(status.success())
}

/// What cargo knows about the workspace.
#[derive(Deserialize)]
pub struct Metadata {
    /// Its packages.
    pub packages: Vec<Package>,
    /// Where it builds to.
    pub target_directory: PathBuf,
}

/// A package of the workspace.
#[derive(Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Libraries, programs, benchmarks.
    pub targets: Vec<Target>,
}

/// One thing that cargo builds.
#[derive(Deserialize)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// `lib`, `cdylib`, `bin`, `bench`, `test`.
    pub kind: Vec<String>,
}

/// Asks cargo about the workspace.
pub fn metadata(root: &Path) -> Result<Metadata> {
    let output = cargo(root)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .stderr(Stdio::inherit())
        .output()
        .context("cargo metadata cannot be started")?;
    if !output.status.success() {
        bail!("cargo metadata failed");
    }
    serde_json::from_slice(&output.stdout)
        .context("cargo metadata answered something else than expected")
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    target: Option<Target>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
    executable: Option<PathBuf>,
}

/// Builds one target of a package and returns its file: the dynamic library of a `cdylib`, or the program of a `bin`.
pub fn build(root: &Path, package: &str, kind: &str, profile: &str) -> Result<PathBuf> {
    let output = cargo(root)
        .args(["build", "--package", package, "--profile", profile])
        .args(if kind == "bin" {
            &["--bins"][..]
        } else {
            &["--lib"][..]
        })
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("cargo build cannot be started")?;
    if !output.status.success() {
        bail!("package `{package}` does not build; the compiler's words are above");
    }
    let mut built = None;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Message>(line) else {
            continue;
        };
        let fits = message.reason == "compiler-artifact"
            && message
                .target
                .is_some_and(|target| target.kind.iter().any(|have| have == kind));
        if fits {
            let library = |path: &PathBuf| {
                path.extension()
                    .is_some_and(|end| end == std::env::consts::DLL_EXTENSION)
            };
            built = message
                .executable
                .or_else(|| message.filenames.into_iter().find(library))
                .or(built);
        }
    }
    built.with_context(|| format!("cargo built `{package}` and named no {kind}"))
}

//! `run`: from nothing to a run of a shipped workload, or of a language model.

use crate::{End, cargo, model, providers};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workload that is run if none is named: it ends within a minute on two cores.
const SHIPPED: &str = "smollm2-135m-decode";

/// Where workloads lie.
const FOLDER: &str = "kernels/workloads";

/// What the model is asked, if nothing else is.
const PROMPT: &str = "Why is the sky blue? Answer in three sentences.";

/// Options of `run`.
#[derive(clap::Args)]
pub struct Options {
    /// A workload file, or the name of a shipped one.
    #[arg(default_value = SHIPPED, conflicts_with = "model")]
    workload: String,
    /// Fetch a small language model, 98 MB, and let it answer a prompt.
    #[arg(long, value_name = "PROMPT", num_args = 0..=1, default_missing_value = PROMPT)]
    model: Option<String>,
    /// Cargo profile of the program and its providers.
    #[arg(long, default_value = "release")]
    profile: String,
    /// Passed to `overt run` or `overt generate`.
    #[arg(last = true)]
    rest: Vec<String>,
}

/// The command.
pub fn command(root: &Path, options: &Options) -> Result<End> {
    let mut arguments: Vec<OsString> = match &options.model {
        None => vec!["run".into(), workload(root, &options.workload)?.into()],
        Some(prompt) => {
            let target = cargo::metadata(root)?.target_directory;
            let file = model::fetch(&target)?;
            vec![
                "generate".into(),
                file.into(),
                prompt.into(),
                "--explain".into(),
            ]
        }
    };
    arguments.extend(options.rest.iter().map(OsString::from));
    providers::build(root, None, &options.profile)?;
    let program = cargo::build(root, "overt-cli", "bin", &options.profile)?;
    let mut command = Command::new(&program);
    command.args(&arguments).current_dir(root).env(
        overt::load::PROVIDER_PATH_VARIABLE,
        providers::default_folder(root)?,
    );
    match &options.model {
        None => println!("overt run {}", options.workload),
        Some(prompt) => println!("overt generate MODEL {prompt:?} --explain\n"),
    }
    let status = command
        .status()
        .with_context(|| program.display().to_string())?;
    Ok(if status.success() {
        End::Success
    } else {
        End::Failure
    })
}

/// A path as it is, a name under the folder of shipped workloads.
fn workload(root: &Path, name: &str) -> Result<PathBuf> {
    let path = Path::new(name);
    if path.extension().is_some() {
        return if path.is_file() {
            Ok(std::path::absolute(path)?)
        } else {
            bail!("workload `{name}`: there is no such file")
        };
    }
    let folder = root.join(FOLDER);
    let shipped = folder.join(format!("{name}.toml"));
    if shipped.is_file() {
        return Ok(shipped);
    }
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .with_context(|| format!("no workload is shipped: {}", folder.display()))?
        .filter_map(|entry| {
            entry
                .ok()?
                .path()
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
        })
        .collect();
    names.sort();
    bail!(
        "no workload named `{name}` is shipped in {FOLDER}; there are: {}",
        names.join(", ")
    )
}

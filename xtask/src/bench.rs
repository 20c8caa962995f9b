//! `bench`: the benchmarks, all or by name.

use crate::{End, cargo};
use anyhow::{Result, bail};
use std::path::Path;

/// Options of `bench`.
#[derive(clap::Args)]
pub struct Options {
    /// Names of benchmarks; all if none is given.
    names: Vec<String>,
}

/// The command.
pub fn command(root: &Path, options: &Options) -> Result<End> {
    let metadata = cargo::metadata(root)?;
    let mut all = Vec::new();
    for package in &metadata.packages {
        for target in package
            .targets
            .iter()
            .filter(|target| target.kind.iter().any(|kind| kind == "bench"))
        {
            all.push((package.name.as_str(), target.name.as_str()));
        }
    }
    let known = || {
        all.iter()
            .map(|(_, name)| *name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    for name in &options.names {
        if !all.iter().any(|(_, known)| known == name) {
            bail!("no benchmark is named `{name}`; there are: {}", known());
        }
    }
    let chosen: Vec<_> = all
        .iter()
        .filter(|(_, name)| options.names.is_empty() || options.names.iter().any(|n| n == name))
        .collect();
    if chosen.is_empty() {
        eprintln!("executed 0 benchmarks: the workspace has none");
        return Ok(End::NothingExecuted);
    }
    // Built like what is shipped, so that what is measured is what is used.
    crate::providers::build(root, None, "release")?;
    for (package, name) in chosen {
        println!("bench {package} {name}");
        let mut command = cargo::cargo(root);
        if *name == "cpu" {
            let target = &metadata.target_directory;
            // Threads of the peers that wait busily would take the processors from what is timed next.
            command
                .env("OVERT_BENCH_PEERS", crate::peers::fetch(target)?)
                .env("OVERT_BENCH_PAGE", target.join("performance-cpu.md"))
                .env("OMP_WAIT_POLICY", "passive");
        }
        if *name == "generate" {
            let target = &metadata.target_directory;
            command.env("OVERT_BENCH_MODEL", crate::model::fetch(target)?);
            if let Some(python) = crate::peers::python_with_llama(target)? {
                command.env("OVERT_BENCH_PYTHON", python);
            }
        }
        command
            .args(["bench", "--package", package, "--bench", name])
            .env(
                overt::load::PROVIDER_PATH_VARIABLE,
                crate::providers::default_folder(root)?,
            );
        if !cargo::run(&mut command)? {
            bail!("benchmark `{name}` failed");
        }
    }
    Ok(End::Success)
}

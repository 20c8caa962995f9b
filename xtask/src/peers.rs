//! Libraries that the CPU's kernels are held against: fetched by Python's `pip` into a folder under the target folder.

use crate::tools;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One library.
struct Peer {
    /// Its name, and that of its folder.
    name: &'static str,
    /// What `pip` installs.
    requirement: &'static str,
    /// A file of it, whose folder is what the benchmark opens.
    file: &'static str,
    /// What has to be known before it is fetched.
    note: &'static str,
}

const PEERS: [Peer; 2] = [
    Peer {
        name: "onednn",
        requirement: "onednn-cpu-gomp==2023.2.0",
        file: "libdnnl.so.3",
        note: "",
    },
    Peer {
        name: "ggml",
        requirement: "llama-cpp-python==0.3.36",
        file: "libggml-cpu.so",
        note: "; it is compiled for this machine, which takes some minutes",
    },
];

/// Fetches what is not there yet, and answers the folder that holds each library under its name. What cannot be fetched is
/// said, and its folder is left out.
pub fn fetch(target: &Path) -> Result<PathBuf> {
    let folder = target.join("peers");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    for peer in &PEERS {
        let place = folder.join(peer.name);
        if place.join(peer.file).exists() {
            continue;
        }
        println!("fetching {}{}", peer.requirement, peer.note);
        if let Err(error) = install(&folder, peer, &place) {
            eprintln!("{} is left out: {error:#}", peer.name);
        }
    }
    Ok(folder)
}

fn install(folder: &Path, peer: &Peer, place: &Path) -> Result<()> {
    let python = python(folder)?;
    let environment = folder.join("venv");
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ])
    .arg(peer.requirement);
    succeed(&mut pip, "pip")?;
    let found = find(&environment, peer.file)
        .with_context(|| format!("{} holds no {}", peer.requirement, peer.file))?;
    let holder = found.parent().context("a file has a folder")?;
    // A link that is there already points to something that is gone.
    let _ = fs::remove_file(place);
    std::os::unix::fs::symlink(holder, place).with_context(|| place.display().to_string())
}

/// Python that has llama.cpp, where that can be had.
pub fn python_with_llama(target: &Path) -> Result<Option<PathBuf>> {
    let folder = fetch(target)?;
    let python = python(&folder)?;
    let there = folder.join("ggml").join("libggml-cpu.so").exists();
    Ok(there.then_some(python))
}

/// Python of an environment of its own in a folder, made where it is not there yet.
pub fn python(folder: &Path) -> Result<PathBuf> {
    let environment = folder.join("venv");
    // Pip comes last, so that an environment that was left half made is seen as such.
    let python = environment.join("bin/python");
    if !environment.join("bin/pip").exists() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let make = || {
            let mut make = Command::new("python3");
            make.args(["-m", "venv", "--clear"]).arg(&environment);
            succeed(&mut make, "python3 with venv (Debian: python3-venv)")
        };
        if make().is_err() {
            tools::install(&["python3-venv"]);
            make()?;
        }
    }
    Ok(python)
}

/// Runs a command to its end; anything but success is an error.
pub fn succeed(command: &mut Command, what: &str) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("{what} cannot be started"))?;
    if !status.success() {
        bail!("{what}: {status}");
    }
    Ok(())
}

/// The first file of this name in a folder and those beneath.
pub fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut beneath = Vec::new();
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        if entry.file_name() == name {
            return Some(path);
        }
        // Links are not followed, since a virtual environment has some to itself.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            beneath.push(path);
        }
    }
    beneath.iter().find_map(|folder| find(folder, name))
}

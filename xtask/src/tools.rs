//! Programs that a command needs besides Rust.

use anyhow::{Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// A program, and where it comes from.
pub struct Tool {
    /// The program.
    pub program: &'static str,
    /// Its Debian package.
    pub package: &'static str,
    /// What needs it.
    pub why: &'static str,
}

/// What the tests call.
pub const FOR_TESTS: &[Tool] = &[
    Tool {
        program: "gcc",
        package: "gcc",
        why: "builds the C providers and holds the header to C11",
    },
    Tool {
        program: "g++",
        package: "g++",
        why: "builds the C++ provider and holds the header to C++17",
    },
    Tool {
        program: "python3",
        package: "python3",
        why: "runs the independent implementation of the oracles' tables",
    },
];

/// Whether a program can be started.
pub fn present(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Finds the tools; installs those that are missing where this user may do that, and fails with their packages' names where
/// not.
pub fn require(tools: &[Tool], install: bool) -> Result<()> {
    let lacking: Vec<&Tool> = tools.iter().filter(|tool| !present(tool.program)).collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = lacking.iter().map(|tool| tool.package).collect();
    if install {
        self::install(&packages);
    }
    let lacking: Vec<String> = lacking
        .iter()
        .filter(|tool| !present(tool.program))
        .map(|tool| {
            format!(
                "  {} ({}): apt-get install {}",
                tool.program, tool.why, tool.package
            )
        })
        .collect();
    if lacking.is_empty() {
        return Ok(());
    }
    bail!("programs are missing:\n{}", lacking.join("\n"));
}

/// Installs Debian packages where this user may do that.
pub fn install(packages: &[&str]) {
    if !may_install() {
        return;
    }
    println!("installing with apt-get: {}", packages.join(" "));
    update();
    apt_get(
        &[
            &["install", "--yes", "--no-install-recommends"][..],
            packages,
        ]
        .concat(),
    );
}

/// Brings the lists of packages up to date.
pub fn update() {
    if may_install() {
        apt_get(&["update"]);
    }
}

fn may_install() -> bool {
    Path::new("/usr/bin/apt-get").exists() && user().as_deref() == Some("0")
}

fn user() -> Option<String> {
    let output = Command::new("id").arg("-u").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A failure shows in what is still missing afterwards.
fn apt_get(arguments: &[&str]) {
    let started = Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status();
    match started {
        Ok(status) if status.success() => {}
        Ok(status) => eprintln!("apt-get {}: {status}", arguments.join(" ")),
        Err(error) => eprintln!("apt-get {}: {error}", arguments.join(" ")),
    }
}

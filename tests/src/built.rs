//! Providers and programs built for the tests, each once a process, with the profile and target folder of the tests themselves.
//! Cargo's own lock keeps test programs that build at once apart.

use crate::hostile::{Scratch, compile, root};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The fake provider.
pub fn fake() -> &'static Path {
    library("overt-fake")
}

/// The second fake provider.
pub fn fake2() -> &'static Path {
    library("overt-fake2")
}

/// The provider whose kernels are the ops' oracles.
pub fn oracle() -> &'static Path {
    library("overt-oracle")
}

/// The Vulkan layer that observes.
pub fn vkobserver() -> &'static Path {
    library("overt-vkobserver")
}

/// The CPU provider: the one that `cargo xtask build-providers` left, where the tests were given its folder, else one built here.
pub fn cpu() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| left("libovert_cpu.so", "overt-provider-cpu"))
}

/// The Vulkan provider, as the CPU's.
pub fn vulkan() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| left("libovert_vulkan.so", "overt-provider-vulkan"))
}

fn left(file: &str, package: &str) -> PathBuf {
    let list = std::env::var_os(overt::load::PROVIDER_PATH_VARIABLE).unwrap_or_default();
    std::env::split_paths(&list)
        .map(|folder| folder.join(file))
        .find(|library| library.is_file())
        .unwrap_or_else(|| library(package).to_owned())
}

/// Builds a provider of this workspace: those of the tests at one call of cargo, the CPU provider, which takes longer, and the Vulkan provider each by itself.
fn library(package: &str) -> &'static Path {
    static FAKES: OnceLock<BTreeMap<&'static str, PathBuf>> = OnceLock::new();
    static CPU: OnceLock<BTreeMap<&'static str, PathBuf>> = OnceLock::new();
    static VULKAN: OnceLock<BTreeMap<&'static str, PathBuf>> = OnceLock::new();
    static OBSERVER: OnceLock<BTreeMap<&'static str, PathBuf>> = OnceLock::new();
    let built = match package {
        "overt-provider-cpu" => CPU.get_or_init(|| build(&["overt-provider-cpu"])),
        "overt-provider-vulkan" => VULKAN.get_or_init(|| build(&["overt-provider-vulkan"])),
        "overt-vkobserver" => OBSERVER.get_or_init(|| build(&["overt-vkobserver"])),
        _ => FAKES.get_or_init(|| build(&["overt-fake", "overt-fake2", "overt-oracle"])),
    };
    &built[package]
}

fn build(packages: &[&'static str]) -> BTreeMap<&'static str, PathBuf> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(root())
        .args(["build", "--lib", "--message-format=json-render-diagnostics"])
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .arg("--target-dir")
        .arg(target_folder())
        .stderr(Stdio::inherit());
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} ends with {}",
        output.status
    );
    let text = String::from_utf8_lossy(&output.stdout);
    packages
        .iter()
        .map(|package| {
            let path = text.lines().find_map(|line| artifact(line, package));
            (
                *package,
                path.unwrap_or_else(|| panic!("cargo built no library of {package}")),
            )
        })
        .collect()
}

/// The library that a message of cargo speaks of.
fn artifact(line: &str, package: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    let library = message["target"]["name"].as_str()?;
    let wanted = match package {
        "overt-provider-cpu" => "overt_cpu".to_owned(),
        "overt-provider-vulkan" => "overt_vulkan".to_owned(),
        other => other.replace('-', "_"),
    };
    if message["reason"] != "compiler-artifact" || library != wanted {
        return None;
    }
    message["filenames"]
        .as_array()?
        .iter()
        .filter_map(|name| name.as_str().map(PathBuf::from))
        .find(|path| path.extension().is_some_and(|end| end == "so"))
}

/// The target folder in which this very test lies: `…/<profile>/deps/<test>`.
fn target_folder() -> PathBuf {
    let program =
        std::env::current_exe().unwrap_or_else(|error| panic!("the running test: {error}"));
    let above = program.ancestors().nth(3);
    above
        .unwrap_or_else(|| panic!("{} lies in no target folder", program.display()))
        .to_owned()
}

/// The provider in plain C, built with the flags that its own text names.
pub fn minimal() -> &'static Path {
    static BUILT: OnceLock<(Scratch, PathBuf)> = OnceLock::new();
    let (_, path) = BUILT.get_or_init(|| {
        let scratch = Scratch::new("minimal");
        let library = scratch.path().join("libminimal.so");
        compile(&root().join("abi/examples/minimal.c"), &library, &[])
            .unwrap_or_else(|error| panic!("{error}"));
        (scratch, library)
    });
    path
}

/// The library of hooks, to be loaded before a program.
pub fn hooks() -> &'static Path {
    static BUILT: OnceLock<(Scratch, PathBuf)> = OnceLock::new();
    let (_, path) = BUILT.get_or_init(|| {
        let scratch = Scratch::new("hooks");
        let library = scratch.path().join("libhooks.so");
        // No builtins: the compiler may not replace the very functions that are defined here.
        compile(
            &root().join("tests/hooks/hooks.c"),
            &library,
            &["-fno-builtin".into(), "-ldl".into()],
        )
        .unwrap_or_else(|error| panic!("{error}"));
        (scratch, library)
    });
    path
}

/// The `overt` program.
pub fn program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .current_dir(root())
            .args(["build", "--package", "overt-cli", "--bin", "overt"])
            .arg("--target-dir")
            .arg(target_folder());
        let output = command
            .output()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        assert!(
            output.status.success(),
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        target_folder().join("debug/overt")
    })
}

//! For a provider's build script: states how the library is built and digests its sources.
//!
//! ```ignore
//! fn main() {
//!     overt_sdk::build::emit(&["X86_64", "X86_64_AVX2"]);
//! }
//! ```
//!
//! A build script may read the environment, which is cargo's way of talking to it; the provider itself never does.

use sha2::{Digest, Sha256};
use std::env::var;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Emits `OVERT_BUILD_{COMPILER,TARGET,PROFILE,SANITIZER,REVISION}` for [`crate::export_provider!`], and for each name in `images`
/// `OVERT_IMAGE_<NAME>`: the SHA-256 of the name, compiler, target, profile, optimisation, flags and all files under `src/` and the build script,
/// in hexadecimal, for [`crate::hex_digest`]. A changed source is a changed image.
///
/// # Panics
/// When the sources cannot be read: the build must fail rather than state a digest of something else.
pub fn emit(images: &[&str]) {
    let compiler = output(Command::new(var("RUSTC").unwrap_or_else(|_| "rustc".into())).arg("-V"))
        .unwrap_or_default();
    let target = var("TARGET").unwrap_or_default();
    // Cargo says `debug` for the profile that people select as `dev`.
    let profile = match var("PROFILE").as_deref() {
        Ok("debug") => "dev".to_owned(),
        Ok(other) => other.to_owned(),
        Err(_) => String::new(),
    };
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let sanitizer = flags
        .split('\u{1f}')
        .flat_map(|f| f.split("sanitizer=").nth(1))
        .collect::<Vec<_>>()
        .join(",");
    let root = PathBuf::from(var("CARGO_MANIFEST_DIR").expect("cargo names the package's folder"));
    println!("cargo::rustc-env=OVERT_BUILD_COMPILER={compiler}");
    println!("cargo::rustc-env=OVERT_BUILD_TARGET={target}");
    println!("cargo::rustc-env=OVERT_BUILD_PROFILE={profile}");
    println!("cargo::rustc-env=OVERT_BUILD_SANITIZER={sanitizer}");
    println!(
        "cargo::rustc-env=OVERT_BUILD_REVISION={}",
        revision(&root).unwrap_or_default()
    );
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");

    let mut sources = Sha256::new();
    for text in [
        &compiler,
        &target,
        &profile,
        &flags,
        &var("OPT_LEVEL").unwrap_or_default(),
    ] {
        part(&mut sources, text.as_bytes());
    }
    let mut files = vec![root.join("build.rs")];
    collect(&root.join("src"), &mut files);
    files.sort();
    for file in files.iter().filter(|f| f.exists()) {
        let name = file.strip_prefix(&root).unwrap_or(file);
        part(&mut sources, name.to_string_lossy().as_bytes());
        let bytes = std::fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        part(&mut sources, &bytes);
    }
    for image in images {
        let mut digest = sources.clone();
        part(&mut digest, image.as_bytes());
        let hex: String = digest
            .finalize()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        println!("cargo::rustc-env=OVERT_IMAGE_{image}={hex}");
    }
}

/// One part with its length, so that two parts never run together.
fn part(digest: &mut Sha256, bytes: &[u8]) {
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry
            .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
            .path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn output(command: &mut Command) -> Option<String> {
    let out = command.output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8(out.stdout).ok()?.trim().to_owned())
}

/// The commit that is checked out, with `+dirty` where tracked files differ.
fn revision(root: &Path) -> Option<String> {
    let git = |args: &[&str]| output(Command::new("git").arg("-C").arg(root).args(args));
    let head = git(&["rev-parse", "HEAD"])?;
    let folder = git(&["rev-parse", "--absolute-git-dir"])?;
    // A commit moves HEAD's log; a change of the working tree does not, so `dirty` is as of the last build of this crate.
    let log = Path::new(&folder).join("logs/HEAD");
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    let dirty =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|s| !s.is_empty());
    Some(if dirty { format!("{head}+dirty") } else { head })
}

//! Builds the hostile C provider with the defects that a test names.
//!
//! This file depends on the standard library alone, so that unit tests of other crates can include it by path.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The repository's root, seen from the crate that this file is compiled into.
pub fn root() -> PathBuf {
    let mut folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    while !folder.join("abi/include/overt.h").is_file() {
        assert!(
            folder.pop(),
            "no folder above {} holds abi/include/overt.h",
            env!("CARGO_MANIFEST_DIR")
        );
    }
    folder
}

/// A hostile provider to be built. The macros are listed at the top of `tests/providers/hostile_c/hostile.c`.
#[derive(Clone, Debug, Default)]
pub struct Hostile {
    arguments: Vec<OsString>,
    needs: Option<String>,
}

/// Why a provider was not built.
#[derive(Debug)]
pub struct BuildError(String);

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuildError {}

impl Hostile {
    /// A correct provider named `hostile`.
    pub fn new() -> Hostile {
        Hostile::default()
    }

    /// Sets a macro without a value.
    pub fn with(mut self, name: &str) -> Hostile {
        self.arguments.push(format!("-D{name}").into());
        self
    }

    /// Links it against another library, `lib<name>.so.3`, which is removed again. The name should be the test's own: a library
    /// that some test loaded satisfies all later ones of the process that need the same name.
    pub fn needing_missing(mut self, name: &str) -> Hostile {
        self.needs = Some(name.to_owned());
        self.with("NEEDS_MISSING")
    }

    /// Sets a macro to a number or an expression.
    pub fn number(mut self, name: &str, value: impl fmt::Display) -> Hostile {
        self.arguments.push(format!("-D{name}={value}").into());
        self
    }

    /// Sets a macro to a text.
    pub fn text(mut self, name: &str, value: impl AsRef<Path>) -> Hostile {
        let value = value
            .as_ref()
            .display()
            .to_string()
            .replace('\\', "\\\\")
            .replace('"', "\\\"");
        self.arguments.push(format!("-D{name}=\"{value}\"").into());
        self
    }

    /// Passes an argument to the compiler as it is.
    pub fn argument(mut self, argument: &str) -> Hostile {
        self.arguments.push(argument.into());
        self
    }

    /// Builds `folder/lib<name>.so`.
    pub fn build(&self, folder: &Path, name: &str) -> Result<PathBuf, BuildError> {
        let sources = root().join("tests/providers/hostile_c");
        let library = folder.join(format!("lib{name}.so"));
        let elsewhere = self
            .needs
            .as_ref()
            .map(|needs| build_elsewhere(folder, needs))
            .transpose()?;
        // A defect that leaves a table out leaves it unused.
        let mut arguments: Vec<OsString> = vec![
            "-Wno-unused-variable".into(),
            "-Wno-unused-const-variable".into(),
        ];
        arguments.extend(self.arguments.iter().cloned());
        arguments.extend(elsewhere.iter().map(OsString::from));
        compile(&sources.join("hostile.c"), &library, &arguments)?;
        if let Some(elsewhere) = elsewhere {
            std::fs::remove_file(&elsewhere)
                .map_err(|e| BuildError(format!("{}: {e}", elsewhere.display())))?;
        }
        Ok(library)
    }
}

/// Builds the library that a provider made with [`Hostile::needing_missing`] needs.
pub fn build_elsewhere(folder: &Path, name: &str) -> Result<PathBuf, BuildError> {
    let source = root().join("tests/providers/hostile_c/elsewhere.c");
    let file = format!("lib{name}.so.3");
    let library = folder.join(&file);
    compile(&source, &library, &[format!("-Wl,-soname,{file}").into()])?;
    Ok(library)
}

/// Compiles one C file to a shared library against the checked-in header, with the warnings that the header promises to be
/// free of.
pub fn compile(source: &Path, library: &Path, arguments: &[OsString]) -> Result<(), BuildError> {
    let mut command = Command::new("gcc");
    command
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-pedantic",
            "-Werror",
            "-O1",
            "-fPIC",
            "-shared",
            "-fvisibility=hidden",
        ])
        .arg("-I")
        .arg(root().join("abi/include"))
        .arg("-o")
        .arg(library)
        .arg(source)
        .args(arguments);
    let output = command.output().map_err(|e| {
        BuildError(format!(
            "gcc cannot be started ({e}); on Debian it is in the package gcc: apt-get install gcc"
        ))
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(BuildError(format!(
        "{command:?} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    )))
}

/// A folder of a test's own, writable by its user alone, removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes the folder. `name` shows up in its path.
    pub fn new(name: &str) -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let unique = format!(
            "overt-{name}-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        // Links resolved, so that paths compare equal to what a loader reports.
        let base = std::env::temp_dir()
            .canonicalize()
            .expect("the folder for temporary files exists");
        let path = base.join(unique);
        std::fs::create_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let scratch = Scratch { path };
        set_mode(scratch.path(), 0o755);
        scratch
    }

    /// Its path, absolute and without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a folder inside it.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.path.join(name);
        std::fs::create_dir_all(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        set_mode(&path, 0o755);
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover in the folder for temporary files harms no later test, since names are unique.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Sets the permission bits of a path.
pub fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, permissions)
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

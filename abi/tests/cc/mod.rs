//! Runs gcc and g++ as a provider's author would.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The flags under which the header promises to compile without a warning.
const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-pedantic", "-Werror"];

/// The ABI crate's folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A scratch file of this test binary.
pub fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Compiles `source` and panics with the compiler's words where it has any.
pub fn compile(compiler: &str, standard: &str, source: &Path, arguments: &[&str], output: &Path) {
    let run = Command::new(compiler)
        .arg(format!("-std={standard}"))
        .args(WARNINGS)
        .arg("-I")
        .arg(root().join("include"))
        .args(arguments)
        .arg(source)
        .arg("-o")
        .arg(output)
        .output()
        .unwrap_or_else(|e| panic!("cannot run {compiler}: {e}; install gcc and g++ (Debian: `apt-get install gcc g++`)"));
    let words = String::from_utf8_lossy(&run.stderr);
    assert!(
        run.status.success(),
        "{compiler} -std={standard} {}:\n{words}",
        source.display()
    );
}

//! Runs the program with the real CPU provider.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The CPU provider's library, built by cargo where it is not there or not fresh. Lies beside this test's own programs, so it is
/// of the same profile.
pub fn provider() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_overt"));
        let folder = program.parent().expect("a program lies in a folder");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["build", "--quiet", "--package", "overt-provider-cpu"])
            .arg("--target-dir")
            .arg(
                folder
                    .parent()
                    .expect("a profile's folder lies in the target folder"),
            )
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        if folder.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(
            cargo.status().expect("cargo runs").success(),
            "the CPU provider does not build"
        );
        let library = folder.join(format!(
            "{}overt_cpu{}",
            std::env::consts::DLL_PREFIX,
            std::env::consts::DLL_SUFFIX
        ));
        assert!(library.is_file(), "{} is not there", library.display());
        library
    })
}

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A workload that is shipped.
pub fn shipped(name: &str) -> PathBuf {
    root()
        .join("kernels/workloads")
        .join(format!("{name}.toml"))
}

/// The program, with nothing but what the arguments say.
pub fn bare(args: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_overt"))
        .args(args)
        .env_remove("OVERT_PROVIDER_PATH")
        .output()
        .expect("the program starts");
    Ran::of(args, &output)
}

/// The program with the CPU provider and nothing else.
pub fn overt(args: &[&str]) -> Ran {
    let provider = provider()
        .to_str()
        .expect("the target folder's name is text");
    let mut all = vec!["--no-search", "--providers", provider];
    all.extend(args);
    bare(&all)
}

/// How the program ended.
pub struct Ran {
    pub args: String,
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    fn of(args: &[&str], output: &Output) -> Ran {
        Ran {
            args: args.join(" "),
            code: output.status.code(),
            out: String::from_utf8(output.stdout.clone()).expect("the output is UTF-8"),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The exit code is this one.
    #[track_caller]
    pub fn code(self, code: i32) -> Ran {
        assert_eq!(
            self.code,
            Some(code),
            "overt {}\n{}\n{}",
            self.args,
            self.out,
            self.err
        );
        self
    }

    /// Standard output or error holds all of these.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Ran {
        for word in words {
            assert!(
                self.out.contains(word) || self.err.contains(word),
                "overt {} does not say `{word}`\n{}\n{}",
                self.args,
                self.out,
                self.err
            );
        }
        self
    }

    /// Standard output is one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("overt {}: {e}\n{}\n{}", self.args, self.out, self.err))
    }
}

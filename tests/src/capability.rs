//! What a machine may lack. Each capability is probed once, apart from the cases that need it.

use crate::hostile::Scratch;
use std::process::Command;
use std::sync::OnceLock;

/// Something that some case needs and some machine lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// A C compiler.
    Gcc,
    /// AVX2, FMA and F16C, enabled by the operating system.
    Avx2,
    /// The AVX-512 set of the tuned kernels, enabled by the operating system.
    Avx512,
    /// The process runs as root, so that it may give files to others.
    Root,
    /// Files with the set-user-ID bit take effect in the folder for temporary files, and a program can be run as nobody.
    SetUserId,
    /// Long cases were asked for.
    Long,
    /// Mesa's software driver for Vulkan.
    Lavapipe,
    /// A software driver for Vulkan without narrow types.
    SwiftShader,
    /// The Khronos validation layer for Vulkan.
    Validation,
}

impl Capability {
    /// Its name in the ledger.
    pub fn name(self) -> &'static str {
        match self {
            Capability::Gcc => "gcc",
            Capability::Avx2 => "avx2",
            Capability::Avx512 => "avx512",
            Capability::Root => "root",
            Capability::SetUserId => "set-user-id",
            Capability::Long => "long",
            Capability::Lavapipe => "lavapipe",
            Capability::SwiftShader => "swiftshader",
            Capability::Validation => "vulkan-validation",
        }
    }

    /// Whether it is there, and why not.
    pub fn probe(self) -> Result<(), String> {
        static PROBED: [OnceLock<Result<(), String>>; 9] = [const { OnceLock::new() }; 9];
        PROBED[self as usize].get_or_init(|| self.look()).clone()
    }

    fn look(self) -> Result<(), String> {
        match self {
            Capability::Gcc => match Command::new("gcc").arg("--version").output() {
                Ok(output) if output.status.success() => Ok(()),
                Ok(output) => Err(format!("gcc --version ends with {}", output.status)),
                Err(error) => Err(format!("gcc cannot be started: {error}")),
            },
            Capability::Avx2 => features(&["avx2", "fma", "f16c"]),
            Capability::Avx512 => features(&[
                "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512dq",
            ]),
            Capability::Root => {
                if rustix::process::geteuid().is_root() {
                    Ok(())
                } else {
                    Err("the tests do not run as root".into())
                }
            }
            Capability::SetUserId => set_user_id(),
            Capability::Long => {
                if std::env::var_os("OVERT_TEST_LONG").is_some() {
                    Ok(())
                } else {
                    Err("not asked for (cargo xtask test --long)".into())
                }
            }
            Capability::Lavapipe => crate::vulkan::present(crate::vulkan::LAVAPIPE),
            Capability::SwiftShader => crate::vulkan::present(crate::vulkan::SWIFTSHADER),
            Capability::Validation => crate::vulkan::validates(),
        }
    }
}

/// The loader's own reading of the CPU, which the loader's tests hold against the standard library's.
fn features(names: &[&str]) -> Result<(), String> {
    let enabled = overt::load::enabled_features();
    let lacking: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| !enabled.contains(name))
        .collect();
    if lacking.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "the CPU or its system lacks {}",
            lacking.join(", ")
        ))
    }
}

/// A copy of `id` that belongs to root and has the bit, run as nobody, must say that it is root.
fn set_user_id() -> Result<(), String> {
    Capability::Root.probe()?;
    let scratch = Scratch::new("set-user-id");
    let copy = scratch.path().join("id");
    let words = |error: std::io::Error| error.to_string();
    std::fs::copy("/usr/bin/id", &copy).map_err(words)?;
    crate::hostile::set_mode(&copy, 0o4755);
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .arg("-u")
        .output()
        .map_err(|error| format!("setpriv cannot be started: {error}"))?;
    match String::from_utf8_lossy(&output.stdout).trim() {
        "0" => Ok(()),
        other => Err(format!(
            "the bit has no effect here: user {other} {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

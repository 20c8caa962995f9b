//! What a manifest says, held against this machine and process, before the library is opened.

use super::decl::abi_version_text;
use super::manifest::Manifest;
use super::{cpu, names, platform};

/// Why a library cannot work in this process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It was built for another ABI.
    #[error(
        "it speaks ABI {found}, this host speaks {}{}; build both against one version",
        abi_version_text(*abi_min),
        if abi_min == abi_max { String::new() } else { format!(" to {}", abi_version_text(*abi_max)) }
    )]
    Abi {
        /// Its version.
        found: String,
        /// The oldest version of the host.
        abi_min: u32,
        /// The newest version of the host.
        abi_max: u32,
    },
    /// It was built for another architecture or operating system.
    #[error("it was built for `{found}`, this process runs as `{wanted}`")]
    Target {
        /// Its target triple.
        found: String,
        /// Architecture and operating system of this process.
        wanted: String,
    },
    /// It needs instructions that the CPU or the operating system does not enable.
    #[error(
        "it was compiled for instruction sets that this CPU or its operating system does not enable: {}{}",
        missing.join(", "),
        if untestable.is_empty() { String::new() } else { format!("; not testable by this host: {}", untestable.join(", ")) }
    )]
    CpuFeatures {
        /// Features that are not enabled.
        missing: Vec<String>,
        /// Features that this host cannot test; counted as missing, since unknown is not yes.
        untestable: Vec<String>,
    },
    /// It needs a newer C library.
    #[error(
        "it needs glibc {needs}, this process runs on {}; build it on an older system",
        has.as_deref().map_or_else(|| "another C library".to_owned(), |has| format!("glibc {has}"))
    )]
    Glibc {
        /// What it needs.
        needs: String,
        /// What there is, `None` where it is not glibc.
        has: Option<String>,
    },
    /// Its sanitizer's runtime is not in this process.
    #[error(
        "it was built with the {found} sanitizer and this process {}; build both the same way",
        if process.is_empty() { "without one".to_owned() } else { format!("with the {process} sanitizer") }
    )]
    Sanitizer {
        /// Its sanitizer.
        found: String,
        /// This process's, empty for none.
        process: &'static str,
    },
}

/// All that a library states of its needs.
pub(super) struct Needs<'a> {
    pub(super) target: &'a str,
    pub(super) min_glibc: &'a str,
    pub(super) sanitizer: &'a str,
    pub(super) cpu_features: &'a [String],
}

/// Holds a manifest against this process.
pub(super) fn manifest(manifest: &Manifest, abi_min: u32, abi_max: u32) -> Result<(), Unfit> {
    match names::version(&manifest.abi) {
        Some(version) if (abi_min..=abi_max).contains(&version) => {}
        _ => {
            return Err(Unfit::Abi {
                found: manifest.abi.clone(),
                abi_min,
                abi_max,
            });
        }
    }
    needs(&Needs {
        target: &manifest.target,
        min_glibc: manifest.min_glibc.as_deref().unwrap_or_default(),
        sanitizer: &manifest.sanitizer,
        cpu_features: &manifest.cpu_features,
    })
}

/// Holds needs against this process. Empty text: not stated, and so no reason to refuse.
pub(super) fn needs(needs: &Needs<'_>) -> Result<(), Unfit> {
    if !needs.target.is_empty() && !runs_here(needs.target) {
        let wanted = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
        return Err(Unfit::Target {
            found: needs.target.to_owned(),
            wanted,
        });
    }
    let features = |state: Option<bool>| -> Vec<String> {
        needs
            .cpu_features
            .iter()
            .filter(|name| cpu::enabled(name) == state)
            .cloned()
            .collect()
    };
    let (missing, untestable) = (features(Some(false)), features(None));
    if !missing.is_empty() || !untestable.is_empty() {
        return Err(Unfit::CpuFeatures {
            missing,
            untestable,
        });
    }
    if let Some(wanted) = platform::parse_glibc(needs.min_glibc) {
        let has = platform::glibc_version();
        if has.is_none_or(|has| has < wanted) {
            return Err(Unfit::Glibc {
                needs: needs.min_glibc.to_owned(),
                has: has.map(|(major, minor)| format!("{major}.{minor}")),
            });
        }
    }
    let process = platform::sanitizer();
    if !needs.sanitizer.is_empty() && needs.sanitizer != process {
        return Err(Unfit::Sanitizer {
            found: needs.sanitizer.to_owned(),
            process,
        });
    }
    Ok(())
}

/// Whether a target triple names this process's architecture and operating system. The vendor says nothing, and the C
/// library is checked by its version.
fn runs_here(target: &str) -> bool {
    let mut parts = target.split('-');
    let arch = parts.next().unwrap_or_default();
    arch == std::env::consts::ARCH
        && parts.any(|part| {
            part == std::env::consts::OS || part == "darwin" && cfg!(target_os = "macos")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(
        target: &str,
        min_glibc: &str,
        sanitizer: &str,
        features: &[&str],
    ) -> Result<(), Unfit> {
        let cpu_features: Vec<String> = features.iter().map(|f| f.to_string()).collect();
        needs(&Needs {
            target,
            min_glibc,
            sanitizer,
            cpu_features: &cpu_features,
        })
    }

    #[test]
    fn what_is_not_stated_is_no_reason() {
        assert_eq!(checked("", "", "", &[]), Ok(()));
        let here = format!(
            "{}-unknown-{}-gnu",
            std::env::consts::ARCH,
            std::env::consts::OS
        );
        assert_eq!(checked(&here, "", "", &[]), Ok(()));
    }

    #[test]
    fn each_need_that_is_not_met_is_named() {
        let error = checked("s390x-unknown-linux-gnu", "", "", &[])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("s390x-unknown-linux-gnu") && error.contains(std::env::consts::ARCH),
            "{error}"
        );
        let error = checked("", "", "", &["avx1024"]).unwrap_err();
        assert!(
            matches!(&error, Unfit::CpuFeatures { untestable, .. } if untestable == &["avx1024"]),
            "{error}"
        );
        let error = checked("", "99.1", "", &[]).unwrap_err().to_string();
        assert!(error.contains("99.1"), "{error}");
        let error = checked("", "", "thread", &[]).unwrap_err().to_string();
        assert!(error.contains("thread"), "{error}");
    }
}

//! What was tried and what came of it, in order: the loader's memory of one start.

use super::agree::Disagreement;
use super::discover::LoadedProvider;
use super::fault::NegotiateError;
use super::filter::Unfit;
use super::manifest::{ManifestError, ManifestKernel};
use super::open::OpenError;
use super::search::Origin;
use super::trust::Untrusted;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Every path tried, in order.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// The paths.
    pub tried: Vec<Tried>,
}

/// One path and its outcome.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The path as it was found. Empty for an empty element of a list.
    pub path: PathBuf,
    /// Why it was tried. A library found in a folder has the folder's origin.
    pub origin: Origin,
    /// The host program or its user asked for this very path, so that its failure is a failure of the start.
    pub asked_for: bool,
    /// What came of it.
    pub outcome: Outcome,
    /// How long it took. Reading, hashing, opening and the query of a library count; a query that takes long shows here.
    pub took: Duration,
}

/// What came of a path.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A folder was listed; its libraries follow.
    Listed {
        /// How many candidates it holds.
        candidates: usize,
    },
    /// The provider is loaded.
    Loaded {
        /// Its name.
        provider: String,
        /// It came without a manifest, because it was asked for by path.
        unmanifested: bool,
    },
    /// The same file came up before, by another path or through a link.
    Duplicate {
        /// The path that it was first tried by.
        of: PathBuf,
    },
    /// There is nothing at this path.
    Missing,
    /// The host would not load it, or could not.
    Refused(Reason),
}

/// Why a library was not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Nothing lies at a path that was asked for, or a manifest's library is not there.
    #[error("there is no such file or folder")]
    Missing,
    /// The environment's paths are not used in a privileged process.
    #[error("paths from the environment are not used in a privileged process: {why}")]
    Privileged {
        /// Why it counts as privileged.
        why: String,
    },
    /// The place is not safe to load from.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    /// The system refuses to examine the path.
    #[error("it cannot be examined: {words}")]
    Io {
        /// The system's words.
        words: String,
    },
    /// A library without a manifest that nobody asked for by path.
    #[error(
        "no manifest `{}` lies beside it, so nothing is known before opening it; make one with `cargo xtask build-providers`, or \
         ask for this library by its path", manifest.display()
    )]
    NoManifest {
        /// Where the manifest should be.
        manifest: PathBuf,
    },
    /// The manifest cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// It cannot work in this process.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// A provider of this name is there already.
    #[error("provider `{name}` is loaded already from `{}`, which comes first in the order of paths", from.display())]
    NameTaken {
        /// The name.
        name: String,
        /// Which library has it.
        from: PathBuf,
    },
    /// It could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its answer could not be used.
    #[error(transparent)]
    Negotiate(#[from] NegotiateError),
    /// It loaded and could not be started.
    #[error("it could not be started: {words}")]
    NotStarted {
        /// The provider's words.
        words: String,
    },
    /// The manifest and the library do not say the same.
    #[error("its manifest lies: {}", join(differences))]
    ManifestLies {
        /// All differences.
        differences: Vec<Disagreement>,
    },
}

impl Reason {
    /// The host refused by one of its rules without opening the library, so none of its code has run.
    pub fn before_opening(&self) -> bool {
        match self {
            Reason::Open(OpenError::Loader { .. })
            | Reason::Negotiate(_)
            | Reason::ManifestLies { .. } => false,
            // A library without manifest shows its needs only after it was opened.
            Reason::Unfit(_) | Reason::NameTaken { .. } => true,
            _ => true,
        }
    }
}

fn join(differences: &[Disagreement]) -> String {
    differences
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Listed { candidates: 0 } => f.write_str("a folder without libraries"),
            Outcome::Listed { candidates: 1 } => f.write_str("a folder with 1 candidate"),
            Outcome::Listed { candidates } => write!(f, "a folder with {candidates} candidates"),
            Outcome::Loaded {
                provider,
                unmanifested: false,
            } => write!(f, "loaded: provider `{provider}`"),
            Outcome::Loaded {
                provider,
                unmanifested: true,
            } => write!(f, "loaded without manifest: provider `{provider}`"),
            Outcome::Duplicate { of } => write!(f, "the same file as `{}`", of.display()),
            Outcome::Missing => f.write_str("nothing there"),
            Outcome::Refused(reason) => write!(f, "not loaded: {reason}"),
        }
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` ({}): {}",
            self.path.display(),
            self.origin,
            self.outcome
        )
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tried
            .iter()
            .try_for_each(|tried| writeln!(f, "{tried}"))
    }
}

/// A provider that did not load. Selection lists it, and its kernels where they are known, as rejected candidates.
#[derive(Clone, Debug)]
pub struct FailedProvider {
    /// The library.
    pub path: PathBuf,
    /// Its name by its manifest, or by its own answer; `None` where neither could be read.
    pub name: Option<String>,
    /// Its kernels by its manifest; empty where there is none.
    pub kernels: Vec<ManifestKernel>,
    /// Why.
    pub reason: Reason,
}

impl FailedProvider {
    /// A provider that loaded and could not be started. Its kernels stay visible, as those of any other that failed.
    pub(crate) fn not_started(provider: &LoadedProvider, words: &str) -> FailedProvider {
        let decl = &provider.decl;
        FailedProvider {
            path: provider.path.clone(),
            name: Some(decl.name.clone()),
            kernels: decl
                .kernels
                .iter()
                .map(|kernel| ManifestKernel::of(kernel, decl))
                .collect(),
            reason: Reason::NotStarted {
                words: words.to_owned(),
            },
        }
    }

    /// What to call it: its name, or the library's file name.
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| {
            self.path.file_name().map_or_else(
                || self.path.display().to_string(),
                |name| name.to_string_lossy().into_owned(),
            )
        })
    }
}

/// Something that was asked for did not load, so the runtime does not start.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", describe(report))]
pub struct LoadError {
    /// Everything that was tried, that which failed included.
    pub report: LoadReport,
}

impl LoadError {
    /// What was asked for and failed, with the reasons.
    pub fn failures(&self) -> impl Iterator<Item = (&PathBuf, &Reason)> {
        failures(&self.report)
    }
}

fn failures(report: &LoadReport) -> impl Iterator<Item = (&PathBuf, &Reason)> {
    report
        .tried
        .iter()
        .filter(|tried| tried.asked_for)
        .filter_map(|tried| match &tried.outcome {
            Outcome::Refused(reason) => Some((&tried.path, reason)),
            _ => None,
        })
}

fn describe(report: &LoadReport) -> String {
    let failures: Vec<String> = failures(report)
        .map(|(path, reason)| {
            format!(
                "provider `{}` was asked for and did not load: {reason}",
                path.display()
            )
        })
        .collect();
    let paths: Vec<String> = report
        .tried
        .iter()
        .map(|tried| format!("`{}`", tried.path.display()))
        .collect();
    format!(
        "{} (tried {}: {})",
        failures.join("; "),
        count(paths.len()),
        paths.join(", ")
    )
}

fn count(paths: usize) -> String {
    if paths == 1 {
        "1 path".into()
    } else {
        format!("{paths} paths")
    }
}

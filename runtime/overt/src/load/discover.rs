//! Walks the places in order and takes each library through its checks.

use super::decl::ProviderDecl;
use super::manifest::{MANIFEST_SUFFIX, Manifest, ManifestKernel};
use super::negotiate::{HOST_ABI_MAX, HOST_ABI_MIN};
use super::open::{self, FileId, Library};
use super::report::{FailedProvider, LoadError, LoadReport, Outcome, Reason, Tried};
use super::search::{Origin, Surroundings, places};
use super::{agree, filter, trust};
use overt_abi::OvertProviderApi;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What to load.
#[derive(Clone, Debug, Default)]
pub struct LoadRequest {
    /// Libraries and folders to load from, absolute, in order of precedence. A library listed here must load. A folder listed
    /// here must exist and be safe; the libraries in it are merely found.
    pub asked: Vec<PathBuf>,
    /// Look at the places of `surroundings` too.
    pub search: bool,
    /// What the search reads of the process.
    pub surroundings: Surroundings,
}

/// A provider that is ready to be started.
#[derive(Clone, Debug)]
pub struct LoadedProvider {
    /// What it declares.
    pub decl: Arc<ProviderDecl>,
    /// Its entries. All required ones are there; an optional one may be `None`. Sound to call as the ABI says: the library is
    /// never unloaded.
    pub api: Api,
    /// Its manifest; `None` for a library that was asked for by path and has none.
    pub manifest: Option<Arc<Manifest>>,
    /// The path it was found at.
    pub path: PathBuf,
    /// Why it was tried.
    pub origin: Origin,
    /// The opened library: digest, load time.
    pub library: Arc<Library>,
}

/// The entries of a provider, with a `Debug` that prints none of the fifty addresses.
#[derive(Clone, Copy)]
pub struct Api(pub OvertProviderApi);

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api")
            .field("size", &self.0.size)
            .finish_non_exhaustive()
    }
}

impl std::ops::Deref for Api {
    type Target = OvertProviderApi;

    fn deref(&self) -> &OvertProviderApi {
        &self.0
    }
}

/// The result of loading.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// Loaded providers in order of their paths. Names are unique.
    pub providers: Vec<LoadedProvider>,
    /// Providers that were found and did not load.
    pub failed: Vec<FailedProvider>,
    /// Every path tried.
    pub report: LoadReport,
}

/// Loads what is asked for and what is found. Fails only when something that was asked for does not load.
pub fn load(request: &LoadRequest) -> Result<Load, LoadError> {
    let mut walk = Walk::default();
    for place in places(&request.asked, request.search, &request.surroundings) {
        let asked = place.origin == Origin::Asked;
        let started = Instant::now();
        match (&request.surroundings.privileged, place.origin) {
            (Some(why), Origin::Environment) => {
                let reason = Reason::Privileged { why: why.clone() };
                walk.record(
                    &place.path,
                    place.origin,
                    false,
                    started,
                    Outcome::Refused(reason),
                );
            }
            _ => walk.place(&place.path, place.origin, asked),
        }
    }
    let Walk {
        load, asked_failed, ..
    } = walk;
    if asked_failed {
        Err(LoadError {
            report: load.report,
        })
    } else {
        Ok(load)
    }
}

#[derive(Default)]
struct Walk {
    load: Load,
    asked_failed: bool,
    /// Files that were tried, and the path that each was first tried by.
    seen: HashMap<FileId, PathBuf>,
}

impl Walk {
    fn record(
        &mut self,
        path: &Path,
        origin: Origin,
        asked_for: bool,
        started: Instant,
        outcome: Outcome,
    ) {
        if let Outcome::Refused(reason) = &outcome {
            self.asked_failed |= asked_for;
            tracing::warn!(target: "overt::load", path = %path.display(), %origin, %reason, "not loaded");
        } else {
            tracing::debug!(target: "overt::load", path = %path.display(), %origin, %outcome, "tried");
        }
        let (path, took) = (path.to_owned(), started.elapsed());
        self.load.report.tried.push(Tried {
            path,
            origin,
            asked_for,
            outcome,
            took,
        });
    }

    fn place(&mut self, path: &Path, origin: Origin, asked: bool) {
        let started = Instant::now();
        if let Err(untrusted) = trust::absolute(path) {
            return self.record(
                path,
                origin,
                asked,
                started,
                Outcome::Refused(untrusted.into()),
            );
        }
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => self.folder(path, origin, asked),
            Ok(_) => self.library(path, origin, asked),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let outcome = if asked {
                    Outcome::Refused(Reason::Missing)
                } else {
                    Outcome::Missing
                };
                self.record(path, origin, asked, started, outcome);
            }
            Err(e) => {
                let reason = Reason::Io {
                    words: e.to_string(),
                };
                self.record(path, origin, asked, started, Outcome::Refused(reason));
            }
        }
    }

    fn folder(&mut self, path: &Path, origin: Origin, asked: bool) {
        let started = Instant::now();
        let listed = match trust::folder(path) {
            Ok(Ok(_)) => candidates(path),
            Ok(Err(untrusted)) => {
                return self.record(
                    path,
                    origin,
                    asked,
                    started,
                    Outcome::Refused(untrusted.into()),
                );
            }
            Err(e) => Err(e),
        };
        match listed {
            Ok(libraries) => {
                self.record(
                    path,
                    origin,
                    asked,
                    started,
                    Outcome::Listed {
                        candidates: libraries.len(),
                    },
                );
                for library in libraries {
                    self.library(&library, origin, false);
                }
            }
            Err(e) => {
                let reason = Reason::Io {
                    words: e.to_string(),
                };
                self.record(path, origin, asked, started, Outcome::Refused(reason));
            }
        }
    }

    fn library(&mut self, path: &Path, origin: Origin, asked: bool) {
        let started = Instant::now();
        if let Ok(meta) = std::fs::metadata(path) {
            let id = open::file_id(&meta);
            if let Some(of) = self.seen.get(&id).cloned() {
                return self.record(path, origin, asked, started, Outcome::Duplicate { of });
            }
            self.seen.insert(id, path.to_owned());
        }
        let mut known = Known::default();
        match self.checked(path, origin, asked, &mut known) {
            Ok(provider) => {
                let outcome = Outcome::Loaded {
                    provider: provider.decl.name.clone(),
                    unmanifested: provider.manifest.is_none(),
                };
                self.load.providers.push(provider);
                self.record(path, origin, asked, started, outcome);
            }
            Err(reason) => {
                self.load.failed.push(FailedProvider {
                    path: path.to_owned(),
                    name: known.name,
                    kernels: known.kernels,
                    reason: reason.clone(),
                });
                self.record(path, origin, asked, started, Outcome::Refused(reason));
            }
        }
    }

    /// All checks of one library, in the order in which they become possible.
    fn checked(
        &self,
        path: &Path,
        origin: Origin,
        asked: bool,
        known: &mut Known,
    ) -> Result<LoadedProvider, Reason> {
        // The manifest first: it is known, and says whose kernels these are, even where the place is not trusted.
        let manifest = manifest_of(path);
        if let Ok(Some(manifest)) = &manifest {
            known.name = Some(manifest.provider.clone());
            known.kernels.clone_from(&manifest.kernels);
        }
        match trust::chain(path) {
            Ok(trusted) => drop(trusted?),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(Reason::Missing),
            Err(e) => {
                return Err(Reason::Io {
                    words: e.to_string(),
                });
            }
        }
        let manifest = manifest?;
        match &manifest {
            Some(manifest) => {
                filter::manifest(manifest, HOST_ABI_MIN, HOST_ABI_MAX)?;
                self.name_free(&manifest.provider)?;
            }
            None if asked => {}
            None => {
                return Err(Reason::NoManifest {
                    manifest: Manifest::path_for(path),
                });
            }
        }
        let library = open::open(
            path,
            manifest.as_ref().map(|manifest| manifest.sha256.as_str()),
        )?;
        let negotiated = library.negotiated().clone()?;
        known.name = Some(negotiated.decl.name.clone());
        if let Some(manifest) = &manifest {
            let differences = agree::disagreements(manifest, &negotiated.decl);
            if !differences.is_empty() {
                return Err(Reason::ManifestLies { differences });
            }
        }
        if let Some(build) = &negotiated.decl.build {
            filter::needs(&filter::Needs {
                target: &build.target,
                min_glibc: &build.min_glibc,
                sanitizer: &build.sanitizer,
                cpu_features: &[],
            })?;
        }
        self.name_free(&negotiated.decl.name)?;
        Ok(LoadedProvider {
            decl: Arc::new(negotiated.decl),
            api: Api(negotiated.api),
            manifest: manifest.map(Arc::new),
            path: path.to_owned(),
            origin,
            library,
        })
    }

    fn name_free(&self, name: &str) -> Result<(), Reason> {
        match self
            .load
            .providers
            .iter()
            .find(|provider| provider.decl.name == name)
        {
            Some(first) => Err(Reason::NameTaken {
                name: name.to_owned(),
                from: first.path.clone(),
            }),
            None => Ok(()),
        }
    }
}

/// What is known of a library that may not load.
#[derive(Default)]
struct Known {
    name: Option<String>,
    kernels: Vec<ManifestKernel>,
}

/// The manifest beside a path, or beside the file that it leads to.
fn manifest_of(path: &Path) -> Result<Option<Manifest>, Reason> {
    let beside = match Manifest::read(&Manifest::path_for(path)) {
        Err(e) if e.is_missing() => None,
        read => Some(read?),
    };
    if beside.is_some() {
        return Ok(beside);
    }
    let Some(real) = path.canonicalize().ok().filter(|real| real != path) else {
        return Ok(None);
    };
    match Manifest::read(&Manifest::path_for(&real)) {
        Err(e) if e.is_missing() => Ok(None),
        read => Ok(Some(read?)),
    }
}

/// Libraries of a folder by file name, those included of which only a manifest is left. Sorted, since the order in which a
/// file system lists them says nothing.
fn candidates(folder: &Path) -> std::io::Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        let library = name.strip_suffix(MANIFEST_SUFFIX).unwrap_or(name);
        if library.ends_with(std::env::consts::DLL_SUFFIX) {
            found.insert(folder.join(library));
        }
    }
    Ok(found)
}

#[cfg(test)]
#[path = "discover_tests.rs"]
mod tests;

//! Where providers are looked for, in order: what the host program asked for, what the environment lists, and the folders
//! that belong to the program itself.

use super::platform;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// The environment variable that lists folders and libraries, separated like `PATH`.
pub const PROVIDER_PATH_VARIABLE: &str = "OVERT_PROVIDER_PATH";

/// Name of the folder beside an executable, and under `../lib`, that is searched.
pub const PROVIDER_FOLDER: &str = "overt-providers";

/// What the search reads of the process. Taken once, when a runtime is built, so that nothing later depends on the
/// environment; tests make their own.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The value of [`PROVIDER_PATH_VARIABLE`], if set.
    pub provider_path: Option<OsString>,
    /// Why the process is privileged, if it is; then `provider_path` is refused.
    pub privileged: Option<String>,
    /// The running program, links resolved.
    pub executable: Option<PathBuf>,
}

impl Surroundings {
    /// Reads them from this process. The only place of the loader that reads the environment.
    pub fn of_process() -> Surroundings {
        Surroundings {
            provider_path: std::env::var_os(PROVIDER_PATH_VARIABLE),
            privileged: platform::privileged(),
            executable: std::env::current_exe()
                .ok()
                .and_then(|exe| exe.canonicalize().ok()),
        }
    }

    /// Nothing: only what is asked for is loaded.
    pub fn none() -> Surroundings {
        Surroundings::default()
    }
}

/// Why a path is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The host program or its user asked for it by path.
    Asked,
    /// It stands in [`PROVIDER_PATH_VARIABLE`].
    Environment,
    /// `overt-providers` beside the executable.
    BesideExecutable,
    /// `../lib/overt-providers` from the executable's folder.
    LibraryFolder,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Origin::Asked => "asked for",
            Origin::Environment => PROVIDER_PATH_VARIABLE,
            Origin::BesideExecutable => "beside the executable",
            Origin::LibraryFolder => "library folder of the executable",
        })
    }
}

/// One place to look at: a library or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path as given. Empty for an empty element of a list.
    pub path: PathBuf,
    /// Why.
    pub origin: Origin,
}

/// All places in order of precedence. Nothing is checked here; the privileged case is the caller's to refuse.
pub(super) fn places(asked: &[PathBuf], search: bool, around: &Surroundings) -> Vec<Place> {
    let mut places: Vec<Place> = asked
        .iter()
        .map(|path| Place {
            path: path.clone(),
            origin: Origin::Asked,
        })
        .collect();
    if !search {
        return places;
    }
    if let Some(list) = around
        .provider_path
        .as_ref()
        .filter(|list| !list.is_empty())
    {
        places.extend(std::env::split_paths(list).map(|path| Place {
            path,
            origin: Origin::Environment,
        }));
    }
    if let Some(folder) = around.executable.as_deref().and_then(Path::parent) {
        places.push(Place {
            path: folder.join(PROVIDER_FOLDER),
            origin: Origin::BesideExecutable,
        });
        if let Some(above) = folder.parent() {
            places.push(Place {
                path: above.join("lib").join(PROVIDER_FOLDER),
                origin: Origin::LibraryFolder,
            });
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_asked_then_environment_then_the_programs_own_folders() {
        let around = Surroundings {
            provider_path: Some("/a::b".into()),
            privileged: None,
            executable: Some("/opt/x/bin/host".into()),
        };
        let got: Vec<(String, Origin)> = places(&["/z.so".into()], true, &around)
            .into_iter()
            .map(|place| (place.path.display().to_string(), place.origin))
            .collect();
        let want = [
            ("/z.so", Origin::Asked),
            ("/a", Origin::Environment),
            ("", Origin::Environment),
            ("b", Origin::Environment),
            ("/opt/x/bin/overt-providers", Origin::BesideExecutable),
            ("/opt/x/lib/overt-providers", Origin::LibraryFolder),
        ];
        assert_eq!(got, want.map(|(path, origin)| (path.to_string(), origin)));
    }

    #[test]
    fn without_search_only_what_was_asked_for_is_tried() {
        let around = Surroundings {
            provider_path: Some("/a".into()),
            privileged: None,
            executable: Some("/b/c".into()),
        };
        assert_eq!(
            places(&["/z.so".into()], false, &around),
            [Place {
                path: "/z.so".into(),
                origin: Origin::Asked
            }]
        );
    }
}

//! Opens a library: checked, hashed and loaded through one file descriptor, at most once in the life of the process.
//!
//! # Why the descriptor, and why it stays open
//!
//! A file that is hashed by name and then loaded by name can be exchanged in between. So it is opened once, its owner, mode
//! and digest are taken from the descriptor, and the loader is given `/proc/self/fd/N`, which is that very file.
//!
//! glibc compares the *name* it is given with the names of libraries it has loaded before it looks at the file. If the
//! descriptor were closed and its number reused, `/proc/self/fd/N` would be the name of another file and the loader would
//! answer with the old library. Therefore a descriptor through which a library was loaded is never closed. It is
//! close-on-exec, and there is one for each provider.
//!
//! # Why it is never unloaded
//!
//! Providers start threads, register exit handlers and hand out static text. Unloading code that a thread or handler still
//! refers to ends in a crash, and nothing is won: a runtime that is built again finds the library here. What one library
//! answered to its one query is kept with it.

use super::fault::NegotiateError;
use super::manifest::hex;
use super::negotiate::{Negotiated, negotiate};
use super::trust::{self, Untrusted};
use overt_abi::{OVERT_QUERY_SYMBOL, OvertProviderQuery};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// Why a library could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The system refuses to open or read the file.
    #[error("it cannot be {action}: {words}")]
    Io {
        /// `opened`, `read` or `examined`.
        action: &'static str,
        /// The system's words.
        words: String,
    },
    /// It is a folder, a device, a pipe.
    #[error("it is not a regular file")]
    NotAFile,
    /// Somebody else could have written it.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    /// The file is not the one that its manifest describes.
    #[error(
        "its SHA-256 is {found}, its manifest says {wanted}: the file was changed or replaced; run `cargo xtask build-providers`"
    )]
    Digest {
        /// Of the file.
        found: String,
        /// By the manifest.
        wanted: String,
    },
    /// A library that is loaded already was written over.
    #[error(
        "the file was written over after this process loaded it; restart the program to load the new one"
    )]
    Changed,
    /// The dynamic loader refuses it.
    #[error(
        "the loader says: {words}{}",
        missing.as_ref().map_or_else(String::new, |missing| missing.to_string())
    )]
    Loader {
        /// The loader's words.
        words: String,
        /// The library that is missing, if the words name one.
        missing: Option<MissingLibrary>,
    },
}

/// A library that a provider needs and the loader did not find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingLibrary {
    /// Its name.
    pub name: String,
    /// Where the loader looks, besides its cache and the provider's own run path. Empty where it does not say.
    pub folders: Vec<PathBuf>,
}

impl std::fmt::Display for MissingLibrary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "; it needs `{}`", self.name)?;
        if !self.folders.is_empty() {
            let folders: Vec<String> = self
                .folders
                .iter()
                .map(|folder| folder.display().to_string())
                .collect();
            write!(
                f,
                ", looked for in the loader's cache and in {}",
                folders.join(", ")
            )?;
        }
        Ok(())
    }
}

/// A library that is loaded, for the life of the process.
pub struct Library {
    /// SHA-256 of the file that was loaded.
    digest: [u8; 32],
    /// What the file looked like then.
    stamp: Stamp,
    /// The path it was first loaded by.
    path: PathBuf,
    /// How long loading and the query took, the first time.
    took: Duration,
    negotiated: Result<Negotiated, NegotiateError>,
    /// Never closed; see the module's notes. Not read again.
    _file: File,
    /// Never closed. Not used again.
    _loaded: std::mem::ManuallyDrop<libloading::Library>,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library")
            .field("path", &self.path)
            .field("digest", &hex(&self.digest))
            .finish_non_exhaustive()
    }
}

impl Library {
    /// SHA-256 of the loaded file.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The path it was first loaded by in this process.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Time of loading and querying, the first time.
    pub fn took(&self) -> Duration {
        self.took
    }

    pub(super) fn negotiated(&self) -> &Result<Negotiated, NegotiateError> {
        &self.negotiated
    }
}

/// Which file, whatever its path.
pub(super) type FileId = (u64, u64);

/// Identity of a file.
pub(super) fn file_id(meta: &Metadata) -> FileId {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (meta.dev(), meta.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = meta;
        (0, 0)
    }
}

/// Size and times of a file. A change means that it was written over in place.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<std::time::SystemTime>,
}

impl Stamp {
    fn of(meta: &Metadata) -> Stamp {
        Stamp {
            bytes: meta.len(),
            modified: meta.modified().ok(),
        }
    }
}

/// One library's place in the table. Its lock is held while it loads, so two threads load it once, and a slow query of one
/// library keeps nobody from loading another. `None` until it is loaded: a failure is not kept, since a missing library may
/// be installed meanwhile.
type Slot = Arc<Mutex<Option<Arc<Library>>>>;

static LOADED: LazyLock<Mutex<HashMap<FileId, Slot>>> = LazyLock::new(Mutex::default);

/// Opens a library, or finds it open. `wanted`: the digest by its manifest.
pub(super) fn open(path: &Path, wanted: Option<&str>) -> Result<Arc<Library>, OpenError> {
    let io = |action| {
        move |e: std::io::Error| OpenError::Io {
            action,
            words: e.to_string(),
        }
    };
    // std opens with O_CLOEXEC.
    let mut file = File::open(path).map_err(io("opened"))?;
    let meta = file.metadata().map_err(io("examined"))?;
    if !meta.is_file() {
        return Err(OpenError::NotAFile);
    }
    trust::file(path, &meta)?;
    let slot = LOADED.lock().entry(file_id(&meta)).or_default().clone();
    let mut slot = slot.lock();
    if let Some(library) = slot.as_ref() {
        if library.stamp != Stamp::of(&meta) {
            return Err(OpenError::Changed);
        }
        check_digest(&library.digest, wanted)?;
        return Ok(library.clone());
    }
    let started = Instant::now();
    let digest = digest(&mut file).map_err(io("read"))?;
    check_digest(&digest, wanted)?;
    let loaded = load(&file, path)?;
    // SAFETY: the symbol's name has one meaning, a function of this type; its absence is an error.
    let query =
        unsafe { loaded.get::<OvertProviderQuery>(OVERT_QUERY_SYMBOL) }.map(|symbol| *symbol);
    let negotiated = match query {
        // SAFETY: the function is the library's query, and the library is never unloaded.
        Ok(query) => unsafe { negotiate(query) },
        Err(e) => Err(NegotiateError::NoSymbol {
            symbol: OVERT_QUERY_SYMBOL,
            words: loader_words(&e),
        }),
    };
    let library = Arc::new(Library {
        digest,
        stamp: Stamp::of(&meta),
        path: path.to_owned(),
        took: started.elapsed(),
        negotiated,
        _file: file,
        _loaded: std::mem::ManuallyDrop::new(loaded),
    });
    *slot = Some(library.clone());
    Ok(library)
}

fn check_digest(found: &[u8; 32], wanted: Option<&str>) -> Result<(), OpenError> {
    let found = hex(found);
    match wanted {
        Some(wanted) if wanted != found => Err(OpenError::Digest {
            found,
            wanted: wanted.to_owned(),
        }),
        _ => Ok(()),
    }
}

fn digest(file: &mut File) -> std::io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1 << 18];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hash.finalize().into()),
            read => hash.update(&piece[..read]),
        }
    }
}

/// SHA-256 of a file, in lower-case hexadecimal: what a manifest holds.
pub fn file_digest(path: &Path) -> std::io::Result<String> {
    digest(&mut File::open(path)?).map(|digest| hex(&digest))
}

#[cfg(target_os = "linux")]
fn load(file: &File, _path: &Path) -> Result<libloading::Library, OpenError> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    use std::os::fd::AsRawFd;
    /// `RTLD_NODELETE` of <dlfcn.h>, one value on all of Linux; libloading does not name it. It keeps the code mapped even if
    /// something else closes its own handle to this library.
    const RTLD_NODELETE: std::ffi::c_int = 0x1000;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: this runs the library's constructors, which is what loading a provider means; its owner, its place and its
    // digest have been checked, and the ABI is no sandbox beyond that. Termination routines run at process exit only.
    let loaded = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) };
    loaded
        .map(Into::into)
        .map_err(|e| loader_error(&e, Some(&path), _path))
}

#[cfg(not(target_os = "linux"))]
fn load(_file: &File, path: &Path) -> Result<libloading::Library, OpenError> {
    // Without /proc the loader is given the path. The race between hashing and loading remains here, for those who may write
    // to a folder that was found trusted.
    // SAFETY: as above.
    unsafe { libloading::Library::new(path) }.map_err(|e| loader_error(&e, None, path))
}

/// The loader's own words: libloading keeps them in the source of its error.
fn loader_words(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), |source| source.to_string())
}

fn loader_error(error: &libloading::Error, shown: Option<&str>, path: &Path) -> OpenError {
    let mut words = loader_words(error);
    if let Some(shown) = shown {
        // The descriptor's name means nothing to a reader.
        words = words.replace(shown, &path.display().to_string());
    }
    let missing = missing_library(&words)
        .filter(|name| Path::new(name) != path)
        .map(|name| MissingLibrary {
            name: name.to_owned(),
            folders: super::platform::loader_folders(),
        });
    OpenError::Loader { words, missing }
}

/// The library that "NAME: cannot open shared object file" speaks of.
fn missing_library(words: &str) -> Option<&str> {
    let before = &words[..words.find(": cannot open shared object file")?];
    let name = before.rsplit(": ").next().unwrap_or(before).trim();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_library_is_read_from_the_loaders_words() {
        let words = "libamdhip64.so.7: cannot open shared object file: No such file or directory";
        assert_eq!(missing_library(words), Some("libamdhip64.so.7"));
        assert_eq!(
            missing_library(&format!("error: {words}")),
            Some("libamdhip64.so.7")
        );
        assert_eq!(missing_library("/p/x.so: undefined symbol: f"), None);
    }
}

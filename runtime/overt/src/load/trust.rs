//! Who could have put a file where it lies. A provider is native code in the host's process, so it is loaded only from
//! places that nobody but root and this process's own user can change.
//!
//! A known race is admitted: the folders are checked by path before the file is opened, and somebody who may rename folders
//! in between is root or this user, or else the check would have refused. The file itself is checked again through its
//! descriptor.

use super::platform;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// Why a path is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untrusted {
    /// An empty element of a path list means the current folder to some programs.
    #[error("an empty element in a list of paths; remove the stray separator")]
    Empty,
    /// A relative path depends on the current folder, which an attacker can choose.
    #[error("`{}` is relative, so what it means depends on the current folder; give an absolute path", path.display())]
    Relative {
        /// The path as given.
        path: PathBuf,
    },
    /// Anybody may put files here.
    #[error(
        "`{}` is writable by every user (mode {mode:04o}); remove that with `chmod o-w`, or move the provider", path.display()
    )]
    WorldWritable {
        /// The file or folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A shared scratch folder: the sticky bit protects what others made, but anybody may add a file.
    #[error(
        "it lies directly in `{}`, where every user may add files (mode {mode:04o}); move it into a folder of its own",
        path.display()
    )]
    SharedFolder {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Somebody else owns it and can change it at any time.
    #[error("`{}` belongs to user {owner}; wanted root or user {user}, who runs this process", path.display())]
    Owner {
        /// The file or folder.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
        /// The effective user.
        user: u32,
    },
}

/// Refuses relative and empty paths.
pub(super) fn absolute(path: &Path) -> Result<(), Untrusted> {
    if path.as_os_str().is_empty() {
        return Err(Untrusted::Empty);
    }
    // `..` after a link can leave the tree that was checked, so it counts as relative.
    if !path.is_absolute()
        || path
            .components()
            .any(|c| matches!(c, std::path::Component::ParentDir))
    {
        return Err(Untrusted::Relative {
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// Checks an existing path and everything above it: the links on the way as given, and the place that they lead to. Fails
/// with the I/O error when the path does not exist.
pub(super) fn chain(path: &Path) -> std::io::Result<Result<PathBuf, Untrusted>> {
    walk(path, true)
}

/// `library`: the path is a library, so the folder that directly holds it may not be a shared one.
fn walk(path: &Path, library: bool) -> std::io::Result<Result<PathBuf, Untrusted>> {
    let mut so_far = PathBuf::new();
    for part in path.components() {
        so_far.push(part);
        let meta = fs::symlink_metadata(&so_far)?;
        // A link's own mode means nothing; who may replace it is its owner and whoever may write its folder.
        if meta.is_symlink()
            && let Err(untrusted) = owner(&so_far, &meta)
        {
            return Ok(Err(untrusted));
        }
    }
    let real = fs::canonicalize(path)?;
    for (depth, place) in real.ancestors().enumerate() {
        let meta = fs::metadata(place)?;
        if let Err(untrusted) = owned_and_closed(place, &meta, library && depth == 1) {
            return Ok(Err(untrusted));
        }
    }
    Ok(Ok(real))
}

/// Checks one file or folder. `direct_parent`: the place is the folder that directly holds what is to be loaded.
fn owned_and_closed(path: &Path, meta: &Metadata, direct_parent: bool) -> Result<(), Untrusted> {
    owner(path, meta)?;
    let mode = mode(meta);
    if mode & 0o002 != 0 {
        let sticky_folder = meta.is_dir() && mode & 0o1000 != 0;
        if !sticky_folder {
            return Err(Untrusted::WorldWritable {
                path: path.to_owned(),
                mode,
            });
        }
        if direct_parent {
            return Err(Untrusted::SharedFolder {
                path: path.to_owned(),
                mode,
            });
        }
    }
    Ok(())
}

/// Checks an opened file through its descriptor's metadata.
pub(super) fn file(path: &Path, meta: &Metadata) -> Result<(), Untrusted> {
    owned_and_closed(path, meta, false)
}

/// Checks a folder that is to be listed: libraries would lie directly in it.
pub(super) fn folder(path: &Path) -> std::io::Result<Result<PathBuf, Untrusted>> {
    let real = match walk(path, false)? {
        Ok(real) => real,
        Err(untrusted) => return Ok(Err(untrusted)),
    };
    let meta = fs::metadata(&real)?;
    Ok(owned_and_closed(&real, &meta, true).map(|()| real))
}

#[cfg(unix)]
fn owner(path: &Path, meta: &Metadata) -> Result<(), Untrusted> {
    use std::os::unix::fs::MetadataExt;
    let (owner, user) = (meta.uid(), platform::effective_user());
    if owner == 0 || owner == user {
        Ok(())
    } else {
        Err(Untrusted::Owner {
            path: path.to_owned(),
            owner,
            user,
        })
    }
}

#[cfg(unix)]
fn mode(meta: &Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt;
    meta.mode() & 0o7777
}

#[cfg(not(unix))]
fn owner(_path: &Path, _meta: &Metadata) -> Result<(), Untrusted> {
    let _ = platform::effective_user();
    Ok(())
}

#[cfg(not(unix))]
fn mode(_meta: &Metadata) -> u32 {
    0
}

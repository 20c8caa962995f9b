//! A GGUF file, mapped.

use super::contents::Gguf;
use super::error::{GgufError, GgufProblem, Place};
use super::index::Index;
use super::parse::parse;
use memmap2::{Mmap, MmapOptions, UncheckedAdvice};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::param::page_size;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A GGUF file, mapped read-only into memory and parsed. Owns the mapping; may be used from any thread.
///
/// # What is not protected against
///
/// The mapping shows the file as it is, not as it was when it was opened. Where another process writes to the file meanwhile, the
/// values and weights read are whatever it wrote, and where it cuts the file short, touching the part cut off ends this process
/// with SIGBUS; a file on a network or a removed drive can fail likewise. Nothing in this module trusts the bytes after the
/// check: every length is checked again when it is read, so that a change cannot lead outside the mapping. Replacing a model by
/// renaming a new file over the old one is safe, because the mapping keeps the old one.
pub struct GgufFile {
    map: Mmap,
    index: Arc<Index>,
}

impl GgufFile {
    /// Opens, maps and parses a file. Reads the metadata and no tensor data.
    ///
    /// Does not block: a pipe or a device is refused, not waited for.
    ///
    /// # Errors
    /// The file cannot be opened, is no regular file, cannot be mapped, or is faulty as [`Gguf::parse`] says.
    pub fn open(path: impl AsRef<Path>) -> Result<GgufFile, GgufError> {
        let path = path.as_ref();
        let error = |problem| GgufError {
            file: path.to_owned(),
            at: None,
            place: Place::File,
            problem: Box::new(problem),
        };
        let map = map(path).map_err(error)?;
        let mut index = parse(&map).map_err(|error| GgufError {
            file: path.to_owned(),
            ..error
        })?;
        index.file = path.to_owned();
        Ok(GgufFile {
            map,
            index: Arc::new(index),
        })
    }

    /// What the file holds. Costs one atomic addition.
    pub fn contents(&self) -> Gguf<'_> {
        Gguf {
            bytes: &self.map,
            index: Arc::clone(&self.index),
        }
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.index.file
    }

    /// The file's size in bytes, at least 24.
    pub fn size(&self) -> u64 {
        self.map.len() as u64
    }

    /// Tells the system that a range of the file, in bytes from its start, is not needed soon: its whole pages stop counting as
    /// memory of this process at once. Meant for the [`range`](super::Tensor::range) of a tensor that was copied or repacked.
    ///
    /// The bytes stay valid, for holders of slices and for later calls, and reading them again brings them back from the file. Pages
    /// that the range fills only in part are left, so that neighbours are not read twice. A range that ends behind the file is cut.
    ///
    /// # Errors
    /// The system refuses, which it does not do for a mapping of a regular file.
    pub fn release(&self, range: Range<u64>) -> Result<(), GgufError> {
        let page = page_size();
        let limit = |at: u64| {
            usize::try_from(at)
                .unwrap_or(usize::MAX)
                .min(self.map.len())
        };
        let start = limit(range.start).next_multiple_of(page);
        // The mapping's last page ends behind the file's end and is whole all the same.
        let end = match limit(range.end) {
            end if end == self.map.len() => end,
            end => end - end % page,
        };
        let Some(bytes) = end.checked_sub(start).filter(|bytes| *bytes > 0) else {
            return Ok(());
        };
        // SAFETY: `DontNeed` is unchecked because it throws away what a private mapping holds beside its file: pages that were
        // written. This mapping cannot be written (it is opened for reading only), so that all its pages equal the file's, and
        // one that is touched after this, by a slice that lives on or from another thread, is read from the file again. The range
        // lies in the mapping and begins at a page.
        unsafe {
            self.map
                .unchecked_advise_range(UncheckedAdvice::DontNeed, start, bytes)
        }
        .map_err(|error| GgufError {
            file: self.index.file.clone(),
            at: Some(start as u64),
            place: Place::File,
            problem: Box::new(GgufProblem::Map {
                what: "release",
                bytes: bytes as u64,
                words: error.to_string(),
            }),
        })
    }
}

impl std::fmt::Debug for GgufFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("GgufFile").field(&self.contents()).finish()
    }
}

fn map(path: &Path) -> Result<Mmap, GgufProblem> {
    // Without NONBLOCK, opening a pipe waits for a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = open(path, flags, Mode::empty()).and_then(|file| Ok((fstat(&file)?, file)));
    let (stat, file) = opened.map_err(|error| GgufProblem::Open {
        words: error.to_string(),
    })?;
    let what = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some("a directory"),
        FileType::Fifo => Some("a pipe"),
        FileType::Socket => Some("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("a device"),
        _ => Some("something else than a file"),
    };
    if let Some(what) = what {
        return Err(GgufProblem::NotRegular { what });
    }
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size == 0 {
        return Err(GgufProblem::Empty);
    }
    let refused = |words: String| GgufProblem::Map {
        what: "map",
        bytes: size,
        words,
    };
    let len =
        usize::try_from(size).map_err(|_| refused("the address space is too small".into()))?;
    // SAFETY: the mapping is private and read-only, and has the length that the file had when it was opened. What can break a
    // `&[u8]` into it is another process that changes or shortens the file; no program can prevent that for a file it does not
    // own, and the type's documentation says what happens then. No other unsafe code relies on the bytes: text and lengths are
    // checked again whenever they are read.
    unsafe { MmapOptions::new().len(len).map_copy_read_only(&file) }
        .map_err(|error| refused(error.to_string()))
}

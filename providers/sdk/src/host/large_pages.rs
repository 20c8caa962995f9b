//! Memory that the system is asked to back with its large pages.
//!
//! Weights are read from end to end for every token. In pages of 4 KiB each step of 4 KiB is another address to look up, which under a hypervisor
//! takes as long as reading it; Linux gives pages of 2 MiB to ranges that ask for them (`transparent_hugepage` = `madvise` or `always`).
//! Where it does not, the memory is the same in small pages.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ptr;

/// Bytes of a large page.
pub(super) const PAGE: usize = 2 << 20;

/// A range of zeroed memory of its own, from a large page's beginning to another's.
pub(super) struct Mapping {
    start: *mut u8,
    length: usize,
    base: *mut u8,
}

// SAFETY: the mapping only owns memory; who may touch it when is its holder's affair.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// At least `bytes`, zeroed, beginning at a multiple of `alignment` and of a large page; `None` when there is no such memory.
    pub(super) fn new(bytes: usize, alignment: usize) -> Option<Mapping> {
        let alignment = alignment.max(PAGE);
        let rounded = bytes.checked_next_multiple_of(PAGE)?;
        let length = rounded.checked_add(alignment)?;
        // SAFETY: a new mapping, which replaces nothing.
        let start = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        let start: *mut u8 = start.ok()?.cast();
        let gap = start.align_offset(alignment);
        // SAFETY: the gap is below the alignment, which was added to the length.
        let base = unsafe { start.add(gap) };
        // A system without large pages says so, and its small ones do.
        // SAFETY: the range lies in the mapping, and the advice changes nothing that it holds.
        let _ = unsafe { madvise(base.cast(), rounded, Advice::LinuxHugepage) };
        Some(Mapping {
            start,
            length,
            base,
        })
    }

    /// Its beginning.
    pub(super) fn base(&self) -> *mut u8 {
        self.base
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the very mapping, given back once; nothing points into it any more.
        let given_back = unsafe { munmap(self.start.cast(), self.length) };
        debug_assert!(given_back.is_ok(), "{given_back:?}");
    }
}

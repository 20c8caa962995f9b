//! Reads what a provider's tables point to without trusting the pointers.
//!
//! A provider hands over addresses, and a wrong one must end in a refusal and not in a crash. On Linux the bytes are read
//! through `/proc/self/mem`, where an address that is not mapped gives an error; elsewhere, and where that file cannot be
//! opened, they are read directly, and only null and misaligned pointers are caught.
//!
//! Declarations are static by the ABI, so whole pages are kept while one provider is read: a table of strings then costs few
//! system calls.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;

/// Granularity of the cache. Every page size is a multiple of it, so such a piece is mapped whole or not at all.
const PIECE: usize = 4096;

/// A reader of this process's own memory.
pub(super) struct Memory {
    file: Option<File>,
    pieces: RefCell<HashMap<usize, Option<Box<[u8; PIECE]>>>>,
}

impl Memory {
    /// Opens the reader.
    pub(super) fn open() -> Memory {
        let file = if cfg!(target_os = "linux") {
            File::open("/proc/self/mem").ok()
        } else {
            None
        };
        Memory {
            file,
            pieces: RefCell::default(),
        }
    }

    /// Copies static memory. `false`: some of it is not mapped.
    ///
    /// Where there is no checked reader this reads the address as it is, which the provider's contract must make valid.
    pub(super) fn read(&self, address: usize, into: &mut [u8]) -> bool {
        let Some(end) = address.checked_add(into.len()) else {
            return false;
        };
        if self.file.is_none() {
            return direct(address, into);
        }
        let mut pieces = self.pieces.borrow_mut();
        let mut at = address;
        while at < end {
            let base = at - at % PIECE;
            let piece = pieces.entry(base).or_insert_with(|| {
                let mut bytes = Box::new([0; PIECE]);
                self.fetch(base, &mut bytes[..]).then_some(bytes)
            });
            let Some(piece) = piece else { return false };
            let stop = end.min(base + PIECE);
            into[at - address..stop - address].copy_from_slice(&piece[at - base..stop - base]);
            at = stop;
        }
        true
    }

    /// Copies memory that may change, such as words on the provider's stack during a call.
    pub(super) fn read_once(&self, address: usize, into: &mut [u8]) -> bool {
        if self.file.is_some() {
            self.fetch(address, into)
        } else {
            direct(address, into)
        }
    }

    #[cfg(unix)]
    fn fetch(&self, address: usize, into: &mut [u8]) -> bool {
        use std::os::unix::fs::FileExt;
        self.file
            .as_ref()
            .is_some_and(|file| file.read_exact_at(into, address as u64).is_ok())
    }

    #[cfg(not(unix))]
    fn fetch(&self, address: usize, into: &mut [u8]) -> bool {
        direct(address, into)
    }
}

fn direct(address: usize, into: &mut [u8]) -> bool {
    if address == 0 {
        return into.is_empty();
    }
    let source = std::ptr::with_exposed_provenance::<u8>(address);
    // SAFETY: without a checked reader the ABI's own rule is all there is: tables and text that a provider states are
    // readable for the stated length as long as the library lives.
    unsafe { std::ptr::copy_nonoverlapping(source, into.as_mut_ptr(), into.len()) };
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_memory_is_copied_and_unmapped_memory_is_an_error() {
        static TEXT: [u8; 10_000] = {
            let mut text = [7; 10_000];
            text[9_999] = 9;
            text
        };
        let memory = Memory::open();
        let mut got = vec![0; TEXT.len()];
        assert!(memory.read(TEXT.as_ptr() as usize, &mut got));
        assert_eq!(got, TEXT);
        if memory.file.is_some() {
            for bad in [0usize, 8, 0x10, usize::MAX - 64] {
                assert!(!memory.read(bad, &mut [0; 16]), "{bad:#x}");
                assert!(!memory.read_once(bad, &mut [0; 16]), "{bad:#x}");
            }
        }
        assert!(!memory.read(usize::MAX, &mut [0; 2]), "the range wraps");
    }
}

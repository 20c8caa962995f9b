//! Text and words across the ABI.

use overt_abi::{OvertSink, OvertStr};
use std::ffi::c_void;

/// Borrows `text` for the length of a call.
pub(crate) fn text(text: &str) -> OvertStr {
    OvertStr {
        data: text.as_ptr(),
        len: text.len() as u64,
    }
}

/// Collects what a provider writes during one call. Nothing is allocated until something is written.
#[derive(Default)]
pub(crate) struct Words(Vec<u8>);

/// More than any message needs; a provider that writes without end fills no memory.
const WORDS_LIMIT: usize = 64 * 1024;

impl Words {
    /// A sink that writes here. Valid while `self` is neither moved nor dropped.
    pub(crate) fn sink(&mut self) -> OvertSink {
        Words::sink_at(self)
    }

    /// A sink that writes to words kept elsewhere. Valid while they are neither moved nor dropped.
    pub(crate) fn sink_at(words: *mut Words) -> OvertSink {
        OvertSink {
            size: size_of::<OvertSink>() as u32,
            reserved: 0,
            context: words.cast(),
            write: Some(write_words),
        }
    }

    /// The collected text; bytes that are not UTF-8 are replaced.
    pub(crate) fn take(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.0))
            .trim()
            .to_owned()
    }
}

unsafe extern "C" fn write_words(context: *mut c_void, piece: OvertStr) {
    if context.is_null() || piece.data.is_null() {
        return;
    }
    // SAFETY: `context` is the `Words` that `sink` was made from; the host keeps it in place for the call, and the ABI has the
    // sink called on the caller's thread only, so this is the only reference.
    let words = unsafe { &mut *context.cast::<Words>() };
    let room = WORDS_LIMIT.saturating_sub(words.0.len());
    let len = usize::try_from(piece.len).unwrap_or(usize::MAX).min(room);
    // SAFETY: the provider vouches for `piece.len` readable bytes; at most that many are read.
    words
        .0
        .extend_from_slice(unsafe { std::slice::from_raw_parts(piece.data, len) });
}

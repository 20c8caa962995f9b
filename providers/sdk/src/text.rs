//! Text across the line: pointer and length, UTF-8.

use crate::{Error, Result};
use overt_abi::{OvertSink, OvertStr};

/// Static text as the ABI passes it.
pub const fn text(value: &'static str) -> OvertStr {
    borrowed(value)
}

/// Text of any lifetime as the ABI passes it. The caller sees to it that the text outlives the use.
pub(crate) const fn borrowed(value: &str) -> OvertStr {
    OvertStr {
        data: value.as_ptr(),
        len: value.len() as u64,
    }
}

/// Reads text that the host passed.
///
/// # Safety
/// `value` points to `len` readable bytes that live and do not change for `'a`, or its length is 0.
pub(crate) unsafe fn read<'a>(value: OvertStr, what: &str) -> Result<&'a str> {
    if value.len == 0 {
        return Ok("");
    }
    if value.data.is_null() {
        return Err(Error::invalid(format!(
            "{what}: null text of length {}",
            value.len
        )));
    }
    // SAFETY: not null, and the caller vouches for `len` bytes.
    let bytes = unsafe { std::slice::from_raw_parts(value.data, value.len as usize) };
    std::str::from_utf8(bytes)
        .map_err(|e| Error::invalid(format!("{what}: text is not UTF-8 ({e})")))
}

/// Where an entry's words go. Valid during the entry only.
#[derive(Clone, Copy)]
pub struct Sink<'a> {
    raw: Option<&'a OvertSink>,
}

impl Sink<'_> {
    /// Wraps the host's sink; null drops the words.
    ///
    /// # Safety
    /// `raw` is null or points to a sink that is valid for the lifetime of the value.
    pub(crate) unsafe fn new(raw: *const OvertSink) -> Self {
        Self {
            // SAFETY: the caller vouches for the pointer.
            raw: unsafe { raw.as_ref() },
        }
    }

    /// Hands a piece of text to the host. Pieces of one entry are joined.
    pub fn write(&self, words: &str) {
        if let Some(raw) = self.raw
            && let Some(write) = raw.write
            && !words.is_empty()
        {
            // SAFETY: the host's function with the host's context, text that lives during the call.
            unsafe { write(raw.context, borrowed(words)) }
        }
    }
}

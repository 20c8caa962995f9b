//! Reads items one after another, each checked against what is left.

use super::error::{Fault, GgufProblem};

/// A place in bytes from which items are read. Every read is checked; a failed one leaves it where it was.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where `bytes` begin in the file, so that faults can say the file's own offset.
    base: usize,
}

impl<'a> Cursor<'a> {
    /// At `at` of a whole file.
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor { bytes, at, base: 0 }
    }

    /// At the start of a part of the file that begins at `base` there.
    pub(super) fn part(bytes: &'a [u8], base: usize) -> Cursor<'a> {
        Cursor { bytes, at: 0, base }
    }

    /// The offset in the file.
    pub(super) fn at(&self) -> usize {
        self.base + self.at
    }

    /// Bytes to the end.
    pub(super) fn left(&self) -> u64 {
        self.bytes.len().saturating_sub(self.at) as u64
    }

    pub(super) fn fault<T>(&self, problem: GgufProblem) -> Result<T, Fault> {
        Err(Fault::new(self.at(), problem))
    }

    /// The next `needs` bytes. `what` names them where the file ends before.
    pub(super) fn take(&mut self, needs: u64, what: &'static str) -> Result<&'a [u8], Fault> {
        let left = self.left();
        if needs > left {
            return self.fault(GgufProblem::Truncated { what, needs, left });
        }
        // At most `left`, which is a length in memory.
        let end = self.at + needs as usize;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Fault> {
        let mut to = [0; N];
        to.copy_from_slice(self.take(N as u64, what)?);
        Ok(to)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, Fault> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, Fault> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A length of 64 bits and so many bytes.
    pub(super) fn string(&mut self, what: &'static str) -> Result<&'a [u8], Fault> {
        let start = self.at;
        let taken = self.u64(what).and_then(|bytes| self.take(bytes, what));
        if taken.is_err() {
            self.at = start;
        }
        taken
    }

    /// A string of at most `most` bytes, in UTF-8. The limit is looked at before the file's end, since it says more.
    pub(super) fn text(&mut self, what: &'static str, most: u64) -> Result<&'a str, Fault> {
        let start = *self;
        let got = self.u64(what)?;
        if got > most {
            return start.fault(GgufProblem::Length { what, got, most });
        }
        let bytes = self.take(got, what)?;
        str::from_utf8(bytes).or_else(|error| {
            let valid = error.valid_up_to();
            start.fault(GgufProblem::NotUtf8 { what, valid })
        })
    }

    /// Refuses a count of items that cannot all be in what is left, before anything is reserved for them.
    pub(super) fn holds(&self, got: u64, what: &'static str, least: u64) -> Result<(), Fault> {
        let left = self.left();
        let most = (left / least).min(u64::from(u32::MAX));
        if got > most {
            return self.fault(GgufProblem::Count {
                what,
                got,
                left,
                most,
            });
        }
        Ok(())
    }
}

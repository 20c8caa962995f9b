//! Canonical text and its digest.
//!
//! Two texts that differ in white space alone are one schema. White space between two bytes that could be part of one name or
//! number becomes a single space, any other is dropped, and what stands in quotes is kept as it is. The digest is taken over
//! the canonical text without making it, so that a provider can state it in a `static` from the text as a person wrote it.

/// Offset basis of 64-bit FNV-1a.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
/// Prime of 64-bit FNV-1a.
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The canonical text of a schema. Canonical text is its own canonical text. Any text has one, a schema or not.
pub fn canonical(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut scan = Scan::new();
    while let Some(step) = scan.step(bytes) {
        if step.space_before {
            out.push(b' ');
        }
        out.push(step.byte);
    }
    // Only ASCII bytes are dropped or added, and they are dropped whole, so the text stays UTF-8; a failure here would be a
    // fault of `Scan`, and the lossy form keeps this total.
    String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// 64-bit FNV-1a over the canonical text of `text`, in any formatting. Usable in a constant.
pub const fn digest(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut hash = BASIS;
    let mut scan = Scan::new();
    while let Some(step) = scan.step(bytes) {
        if step.space_before {
            hash = (hash ^ b' ' as u64).wrapping_mul(PRIME);
        }
        hash = (hash ^ step.byte as u64).wrapping_mul(PRIME);
    }
    hash
}

/// One byte of the canonical text, and whether a space stands before it.
struct Step {
    space_before: bool,
    byte: u8,
}

/// Walks a text and yields its canonical bytes. Shared by [`canonical`] and [`digest`], so that they cannot differ.
struct Scan {
    at: usize,
    previous: u8,
    quoted: bool,
    escaped: bool,
}

impl Scan {
    const fn new() -> Self {
        Scan {
            at: 0,
            previous: 0,
            quoted: false,
            escaped: false,
        }
    }

    const fn step(&mut self, bytes: &[u8]) -> Option<Step> {
        let mut spaced = false;
        if !self.quoted {
            while self.at < bytes.len() && is_space(bytes[self.at]) {
                spaced = true;
                self.at += 1;
            }
        }
        if self.at >= bytes.len() {
            return None;
        }
        let byte = bytes[self.at];
        self.at += 1;
        if self.quoted {
            if self.escaped {
                self.escaped = false;
            } else if byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.quoted = false;
            }
        } else if byte == b'"' {
            self.quoted = true;
        }
        let space_before = spaced && is_word(self.previous) && is_word(byte);
        self.previous = byte;
        Some(Step { space_before, byte })
    }
}

/// White space of a schema.
pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// A byte that may be inside a name or a number. Bytes beyond ASCII count too: they are no part of a schema outside quotes,
/// and joining them would make two different texts one.
pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

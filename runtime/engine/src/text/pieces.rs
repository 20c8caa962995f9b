//! The tokens of a checked vocabulary: what each one is, and the bytes it stands for.

use super::bytes::Letters;
use super::error::{TextError, shown};
use super::vocabulary::Vocabulary;

/// The most tokens: ids are 32-bit integers with a sign in the programs that train and run models.
const MOST: usize = i32::MAX as usize;

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A piece of text.
    Normal,
    /// Stands for what no token stands for.
    Unknown,
    /// Steers the model: the beginning of a message, the end of a text. No text of a person or of a model.
    Control,
    /// A piece that is taken out of a text before all others.
    UserDefined,
    /// Has a row in the model and stands for nothing.
    Unused,
    /// One byte of a character that no token stands for.
    Byte,
}

/// Texts that end an answer, whatever type and role the file gives them. Files name one end token at most and models use several: the end of a
/// turn, of a text, of a call. The texts are those of the families' own tokenizers.
const ENDS: [&str; 11] = [
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|eom_id|>",
    "<EOT>",
    "<|end_of_text|>",
    "<end_of_utterance>",
];

/// Marks for filling in the middle of code, which some files give as plain pieces though models take them as marks.
const INFILL: [&str; 15] = [
    "<|fim_prefix|>",
    "<|fim_suffix|>",
    "<|fim_middle|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<fim-prefix>",
    "<fim-suffix>",
    "<fim-middle>",
    "<fim-pad>",
    "<fim_prefix>",
    "<fim_suffix>",
    "<fim_middle>",
    "<fim_pad>",
    "<reponame>",
];

/// Kinds and texts by id, in one block of memory each.
#[derive(Debug)]
pub(super) struct Pieces {
    kinds: Vec<TokenKind>,
    /// Whether the model has said all it wanted where this token comes.
    ends: Vec<bool>,
    /// Where each token's bytes end in `bytes`.
    until: Vec<usize>,
    /// What tokens stand for, one after another.
    bytes: Vec<u8>,
}

impl Pieces {
    /// Checks types and special ids. `letters` are those of a byte-level vocabulary.
    pub(super) fn new(
        vocabulary: &Vocabulary,
        letters: Option<&Letters>,
    ) -> Result<Pieces, TextError> {
        let count = vocabulary.tokens.len();
        if count == 0 || count > MOST {
            return Err(TextError::TokenCount { count, most: MOST });
        }
        if !vocabulary.types.is_empty() && vocabulary.types.len() != count {
            return Err(TextError::Length {
                array: "the list of token types",
                got: vocabulary.types.len(),
                wanted: count,
            });
        }
        let mut pieces = Pieces {
            kinds: Vec::with_capacity(count),
            ends: Vec::with_capacity(count),
            until: Vec::with_capacity(count),
            bytes: Vec::new(),
        };
        for (id, text) in vocabulary.tokens.iter().enumerate() {
            let token = id as u32;
            let is = |texts: &[&str]| texts.iter().any(|t| t.as_bytes() == text);
            let ends = is(&ENDS);
            let mut kind = kind(token, vocabulary.types.get(id).copied().unwrap_or(1))?;
            if ends || is(&INFILL) {
                kind = TokenKind::Control;
            }
            match (kind, letters) {
                (TokenKind::Unused, _) => {}
                (TokenKind::Byte, None) => {
                    pieces.bytes.push(byte(text).ok_or(TextError::ByteToken {
                        token,
                        text: shown(text),
                    })?);
                }
                (TokenKind::Normal, Some(letters)) => letters.spell(text, &mut pieces.bytes),
                (TokenKind::Normal, None) => unmark_spaces(text, &mut pieces.bytes),
                _ => pieces.bytes.extend_from_slice(text),
            }
            pieces.kinds.push(kind);
            pieces.ends.push(ends);
            pieces.until.push(pieces.bytes.len());
        }
        let roles = [
            ("the beginning token (bos)", vocabulary.bos, false),
            ("the end token (eos)", vocabulary.eos, true),
            ("the end of a turn (eot)", vocabulary.eot, true),
            ("the end of a message (eom)", vocabulary.eom, true),
            ("the unknown token (unk)", vocabulary.unknown, false),
            ("the padding token (pad)", vocabulary.padding, false),
        ];
        for (role, id, ends) in roles {
            let Some(got) = id else { continue };
            match pieces.ends.get_mut(got as usize) {
                Some(end) => *end |= ends,
                None => return Err(TextError::SpecialId { role, got, count }),
            }
        }
        Ok(pieces)
    }

    pub(super) fn count(&self) -> usize {
        self.kinds.len()
    }

    pub(super) fn kind(&self, token: u32) -> Result<TokenKind, TextError> {
        self.at(token).map(|id| self.kinds[id])
    }

    pub(super) fn ends(&self, token: u32) -> Result<bool, TextError> {
        self.at(token).map(|id| self.ends[id])
    }

    pub(super) fn bytes(&self, token: u32) -> Result<&[u8], TextError> {
        let id = self.at(token)?;
        let from = id.checked_sub(1).map_or(0, |before| self.until[before]);
        Ok(&self.bytes[from..self.until[id]])
    }

    fn at(&self, token: u32) -> Result<usize, TextError> {
        let count = self.count();
        usize::try_from(token)
            .ok()
            .filter(|id| *id < count)
            .ok_or(TextError::NoToken { got: token, count })
    }
}

/// The kind of a type's number in the file. 0 is *undefined*, of which nothing is known but that no text is made into it.
fn kind(token: u32, got: i32) -> Result<TokenKind, TextError> {
    Ok(match got {
        1 => TokenKind::Normal,
        2 => TokenKind::Unknown,
        3 => TokenKind::Control,
        4 => TokenKind::UserDefined,
        0 | 5 => TokenKind::Unused,
        6 => TokenKind::Byte,
        _ => return Err(TextError::TokenType { token, got }),
    })
}

/// The byte that `<0x0A>` names.
pub(super) fn byte(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    // `from_str_radix` takes a sign as well.
    if digits.len() != 2 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

/// The character that stands for a space in pieces of `llama`.
pub(super) const SPACE: &str = "\u{2581}";

fn unmark_spaces(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(SPACE.as_bytes()) {
            out.push(b' ');
            rest = after;
        } else {
            out.push(*first);
            rest = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_tokens_are_two_digits() {
        assert_eq!(byte(b"<0x0A>"), Some(10));
        assert_eq!(byte(b"<0xff>"), Some(255));
        for wrong in ["<0x+A>", "<0xA>", "<0x100>", "0x0A", "<0x0A", "<0xG0>", ""] {
            assert_eq!(byte(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn marked_spaces_are_spaces() {
        let mut out = Vec::new();
        unmark_spaces("▁▁a▁\u{2580}b".as_bytes(), &mut out);
        assert_eq!(out, "  a \u{2580}b".as_bytes());
    }
}

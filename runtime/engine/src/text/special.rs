//! Finds special tokens in a text.

use super::error::TextError;
use super::pieces::{Pieces, TokenKind};
use super::vocabulary::Vocabulary;

/// What becomes of the text of special tokens (`<|im_end|>`) in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpecialTokens {
    /// It becomes the token: for text that a program or a template wrote. Whoever may write such text steers the model.
    Parse,
    /// It stays text: for what a person or another program wrote. User-defined pieces are found in it all the same, since they are
    /// text and no commands.
    AsText,
}

/// A stretch of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part<'t> {
    Text(&'t str),
    Token(u32),
}

/// The most special tokens. Families have some hundreds, and six thousand with rows kept free; each may cost a search of the whole text.
const MOST: usize = 1 << 14;

/// Special tokens, the longest first: where several fit, a longer one wins over all shorter ones, and of two equally long ones that overlap
/// the one with the lower id.
#[derive(Debug)]
pub(super) struct Specials {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    token: u32,
    text: String,
    always: bool,
}

impl Specials {
    pub(super) fn new(vocabulary: &Vocabulary, pieces: &Pieces) -> Result<Specials, TextError> {
        let mut entries = Vec::new();
        for (token, bytes) in (0..).zip(&vocabulary.tokens) {
            let always = match pieces.kind(token)? {
                TokenKind::Control | TokenKind::Unknown => false,
                TokenKind::UserDefined => true,
                _ => continue,
            };
            // Text is UTF-8, so a token that is not occurs in none.
            match str::from_utf8(bytes) {
                Ok(text) if !text.is_empty() => entries.push(Entry {
                    token,
                    text: text.to_owned(),
                    always,
                }),
                _ => {}
            }
        }
        if entries.len() > MOST {
            return Err(TextError::TooManySpecial {
                count: entries.len(),
                most: MOST,
            });
        }
        // Stable, so that ids stay in order among equally long ones.
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.text.len()));
        Ok(Specials { entries })
    }

    /// The text in parts, in order; no text part is empty.
    pub(super) fn parts<'t>(&self, text: &'t str, special: SpecialTokens) -> Vec<Part<'t>> {
        let mut parts: Vec<Part<'t>> = Vec::new();
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        let pairs = Pairs::of(text.as_bytes());
        for entry in &self.entries {
            let wanted = entry.always || special == SpecialTokens::Parse;
            if wanted && pairs.hold(entry.text.as_bytes()) {
                parts = entry.take_out(parts);
            }
        }
        parts
    }
}

impl Entry {
    /// The parts with every occurrence of the token in their text taken out, from the left. Each part's text is gone through once.
    fn take_out<'t>(&self, parts: Vec<Part<'t>>) -> Vec<Part<'t>> {
        let mut out = Vec::with_capacity(parts.len());
        for part in parts {
            let Part::Text(text) = part else {
                out.push(part);
                continue;
            };
            let mut done = 0;
            for (start, found) in text.match_indices(&self.text) {
                if done < start {
                    out.push(Part::Text(&text[done..start]));
                }
                out.push(Part::Token(self.token));
                done = start + found.len();
            }
            if done < text.len() {
                out.push(Part::Text(&text[done..]));
            }
        }
        out
    }
}

/// The pairs of neighbouring bytes of a text. A token with a pair that the text lacks does not occur in it, which saves the search for nearly
/// all of some thousand tokens.
struct Pairs {
    single: [bool; 256],
    bits: Vec<u64>,
}

impl Pairs {
    fn of(text: &[u8]) -> Pairs {
        let mut pairs = Pairs {
            single: [false; 256],
            bits: vec![0_u64; (1 << 16) / 64],
        };
        for byte in text {
            pairs.single[usize::from(*byte)] = true;
        }
        for pair in text.windows(2) {
            let number = Self::number(pair);
            pairs.bits[number / 64] |= 1 << (number % 64);
        }
        pairs
    }

    fn hold(&self, token: &[u8]) -> bool {
        match token {
            [byte] => self.single[usize::from(*byte)],
            _ => token.windows(2).all(|pair| {
                let number = Self::number(pair);
                self.bits[number / 64] & (1 << (number % 64)) != 0
            }),
        }
    }

    fn number(pair: &[u8]) -> usize {
        usize::from(pair[0]) << 8 | usize::from(pair[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specials(tokens: &[(&str, i32)]) -> Specials {
        let vocabulary = Vocabulary {
            tokens: tokens
                .iter()
                .map(|(text, _)| text.as_bytes().to_vec())
                .collect(),
            types: tokens.iter().map(|(_, kind)| *kind).collect(),
            ..Vocabulary::default()
        };
        let pieces = Pieces::new(&vocabulary, None).unwrap();
        Specials::new(&vocabulary, &pieces).unwrap()
    }

    #[test]
    fn longer_tokens_win_wherever_they_begin() {
        let specials = specials(&[("<a>", 3), ("b<a", 3), ("a>cde", 3)]);
        let parts = specials.parts("b<a>cde<a>", SpecialTokens::Parse);
        // `a>cde` is the longest, and leaves `b<`; the last `<a>` is free.
        assert_eq!(parts, [Part::Text("b<"), Part::Token(2), Part::Token(0)]);
    }

    #[test]
    fn control_tokens_are_text_where_asked_and_user_defined_ones_never() {
        let specials = specials(&[("<c>", 3), ("<u>", 4), ("<x>", 2), ("n", 1)]);
        let text = "<c>n<u><x>";
        assert_eq!(
            specials.parts(text, SpecialTokens::AsText),
            [Part::Text("<c>n"), Part::Token(1), Part::Text("<x>")]
        );
        assert_eq!(
            specials.parts(text, SpecialTokens::Parse),
            [
                Part::Token(0),
                Part::Text("n"),
                Part::Token(1),
                Part::Token(2)
            ]
        );
    }

    #[test]
    fn overlaps_of_a_token_with_itself_are_found_from_the_left() {
        let specials = specials(&[("aa", 3), ("é", 3)]);
        assert_eq!(
            specials.parts("aaaéa", SpecialTokens::Parse),
            [
                Part::Token(0),
                Part::Text("a"),
                Part::Token(1),
                Part::Text("a")
            ]
        );
    }
}

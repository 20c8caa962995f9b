//! Tokens into text, one after another.

use super::error::TextError;
use super::pieces::TokenKind;
use super::tokenizer::{SpecialText, Tokenizer};

/// Makes tokens into text as they come. A character may take several tokens, and nothing of it is given before it is whole: all text together
/// is that of all bytes together, with U+FFFD for what is no UTF-8.
#[derive(Clone, Debug)]
pub struct Decoder {
    tokenizer: Tokenizer,
    special: SpecialText,
    /// The bytes of a character that has begun; fewer than four.
    held: Vec<u8>,
    /// Whether a space is taken away from the next token.
    strip: bool,
}

impl Decoder {
    /// For tokens that go on after others: an answer after its prompt.
    pub fn new(tokenizer: &Tokenizer, special: SpecialText) -> Decoder {
        Decoder {
            tokenizer: tokenizer.clone(),
            special,
            held: Vec::new(),
            strip: false,
        }
    }

    /// For tokens from the beginning of a text: the space that a tokenizer puts before a text is taken away.
    pub fn from_start(tokenizer: &Tokenizer, special: SpecialText) -> Decoder {
        Decoder {
            strip: tokenizer.strips_space(),
            ..Decoder::new(tokenizer, special)
        }
    }

    /// The text that this token completes; empty where it only begins or continues a character, or is hidden.
    ///
    /// # Errors
    /// [`TextError::NoToken`]; what is held stays held.
    pub fn push(&mut self, token: u32) -> Result<String, TextError> {
        let mut bytes = self.tokenizer.bytes(token)?;
        let special = matches!(
            self.tokenizer.kind(token)?,
            TokenKind::Control | TokenKind::Unknown
        );
        if special {
            // Text after a mark begins anew, with a space of its own; a mark that is hidden leaves nothing.
            if self.special == SpecialText::Hide {
                return Ok(String::new());
            }
        } else if self.strip && !bytes.is_empty() {
            self.strip = false;
            bytes = bytes.strip_prefix(b" ").unwrap_or(bytes);
        }
        self.held.extend_from_slice(bytes);
        Ok(self.whole())
    }

    /// Ends the text. What is held of a character that was never completed becomes U+FFFD.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.held).into_owned()
    }

    /// Takes what is decided out of the held bytes.
    fn whole(&mut self) -> String {
        let mut text = String::new();
        let mut decided = 0;
        loop {
            match str::from_utf8(&self.held[decided..]) {
                Ok(rest) => {
                    text.push_str(rest);
                    self.held.clear();
                    return text;
                }
                Err(error) => {
                    let valid = decided + error.valid_up_to();
                    text.push_str(&String::from_utf8_lossy(&self.held[decided..valid]));
                    decided = valid;
                    let Some(wrong) = error.error_len() else {
                        self.held.drain(..decided);
                        return text;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    decided += wrong;
                }
            }
        }
    }
}

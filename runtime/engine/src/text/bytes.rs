//! The letters of byte-level vocabularies: each byte is written as one character, so that every token is text.
//!
//! The table is GPT-2's: bytes that Latin-1 shows as a visible character stand for themselves; the others, in their order, are written as the
//! characters from U+0100 on.

/// The letters, both ways.
#[derive(Clone, Debug)]
pub(super) struct Letters {
    letter: [char; 256],
    /// The byte of each character below U+0144, the first that is no letter.
    byte: [Option<u8>; END],
}

/// 68 bytes have no visible character.
const END: usize = 0x100 + 68;

impl Letters {
    pub(super) fn new() -> Letters {
        let mut letters = Letters {
            letter: ['\0'; 256],
            byte: [None; END],
        };
        let mut hidden = 0x100;
        for byte in 0..=u8::MAX {
            let visible = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
            let code = if visible {
                u32::from(byte)
            } else {
                hidden += 1;
                hidden - 1
            };
            let letter = char::from_u32(code).unwrap_or('\0');
            letters.letter[usize::from(byte)] = letter;
            letters.byte[code as usize] = Some(byte);
        }
        letters
    }

    /// The letter of a byte.
    pub(super) fn letter(&self, byte: u8) -> char {
        self.letter[usize::from(byte)]
    }

    /// The bytes that a token's letters stand for; what is no letter stands for itself.
    pub(super) fn spell(&self, token: &[u8], out: &mut Vec<u8>) {
        for chunk in token.utf8_chunks() {
            for letter in chunk.valid().chars() {
                match self.byte.get(letter as usize).copied().flatten() {
                    Some(byte) => out.push(byte),
                    None => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
                }
            }
            out.extend_from_slice(chunk.invalid());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_letter_of_its_own() {
        let letters = Letters::new();
        assert_eq!(letters.letter(b'a'), 'a');
        assert_eq!(letters.letter(b' '), 'Ġ');
        assert_eq!(letters.letter(b'\n'), 'Ċ');
        assert_eq!(letters.letter(0xAD), 'Ń');
        let text: String = (0..=255).map(|byte| letters.letter(byte)).collect();
        let mut bytes = Vec::new();
        letters.spell(text.as_bytes(), &mut bytes);
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
    }

    #[test]
    fn what_is_no_letter_stands_for_itself() {
        let mut bytes = Vec::new();
        Letters::new().spell(b"a\xFF\xE6\xBC\xA2\x20", &mut bytes);
        assert_eq!(bytes, b"a\xFF\xE6\xBC\xA2\x20");
    }
}

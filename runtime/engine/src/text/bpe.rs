//! Tokenizers of the kind `gpt2`: text is split into words, words are spelled in letters of bytes, and neighbouring pieces are merged in the
//! order of a list.

use super::bytes::Letters;
use super::error::{TextError, shown};
use super::split::Splitter;
use super::vocabulary::Vocabulary;
use std::collections::HashSet;
use tokenizers::Model;
use tokenizers::models::bpe::{BPE, Vocab};

#[derive(Debug)]
pub(super) struct BytePairs {
    splitter: Splitter,
    letters: Letters,
    /// Whether there is a token for the letter of each byte. Text that needs one that is missing loses it, as everywhere with such a
    /// vocabulary; SmolLM2's, for one, lacks some control characters.
    spelled: [bool; 256],
    merges: BPE,
}

impl BytePairs {
    pub(super) fn new(vocabulary: &Vocabulary, letters: Letters) -> Result<BytePairs, TextError> {
        let splitter = Splitter::new(vocabulary.splitter.as_deref())?;
        let mut vocab = Vocab::with_capacity(vocabulary.tokens.len());
        for (token, bytes) in (0..).zip(&vocabulary.tokens) {
            // Words are text: a token that is not UTF-8 can be shown and never made. An empty one is no piece of anything.
            let Ok(text) = str::from_utf8(bytes) else {
                continue;
            };
            if text.is_empty() {
                continue;
            }
            if let Some(first) = vocab.insert(text.to_owned(), token) {
                return Err(TextError::Twice {
                    first,
                    second: token,
                    text: shown(bytes),
                });
            }
        }
        let merges = merges(&vocabulary.merges, &vocab)?;
        let mut spelled = [false; 256];
        for byte in 0..=u8::MAX {
            let letter = letters.letter(byte);
            spelled[usize::from(byte)] =
                vocab.contains_key(letter.encode_utf8(&mut [0; 4]) as &str);
        }
        let merges = BPE::builder()
            .vocab_and_merges(vocab, merges)
            // The library's cache is kept for each thread and never freed; words are short enough to do without.
            .cache_capacity(0)
            .build()
            .map_err(failed)?;
        Ok(BytePairs {
            splitter,
            letters,
            spelled,
            merges,
        })
    }

    pub(super) fn add_bos(&self) -> bool {
        self.splitter.add_bos
    }

    /// Appends the tokens of a text in which no special token is looked for.
    pub(super) fn encode(&self, text: &str, out: &mut Vec<u32>) -> Result<(), TextError> {
        let mut spelled = String::new();
        for word in self.splitter.words(text) {
            if self.splitter.whole_words {
                spelled.clear();
                spelled.extend(word.bytes().map(|byte| self.letters.letter(byte)));
                if let Some(token) = self.merges.token_to_id(&spelled) {
                    out.push(token);
                    continue;
                }
            }
            // A letter without a token parts its neighbours: dropped inside the library, it would let them merge.
            for run in word
                .as_bytes()
                .split(|byte| !self.spelled[usize::from(*byte)])
            {
                spelled.clear();
                spelled.extend(run.iter().map(|byte| self.letters.letter(*byte)));
                let tokens = self.merges.tokenize(&spelled).map_err(failed)?;
                out.extend(tokens.iter().map(|token| token.id));
            }
        }
        Ok(())
    }
}

/// The pairs of pieces, each once. Checked here, since the library slices a buffer of the longest token by the length of two pieces before
/// it looks whether they are one.
fn merges(texts: &[String], vocab: &Vocab) -> Result<Vec<(String, String)>, TextError> {
    let mut seen = HashSet::with_capacity(texts.len());
    let mut out = Vec::with_capacity(texts.len());
    for (number, text) in texts.iter().enumerate() {
        // A piece may begin with a space that is no letter; none has one inside.
        let pieces = text
            .char_indices()
            .skip(1)
            .find(|(_, letter)| *letter == ' ')
            .map(|(at, _)| (&text[..at], &text[at + 1..]))
            .filter(|(_, right)| !right.is_empty());
        let Some((left, right)) = pieces else {
            return Err(TextError::Merge {
                number,
                text: shown(text.as_bytes()),
            });
        };
        let token = |piece: &str| {
            vocab
                .get(piece)
                .copied()
                .ok_or_else(|| TextError::MergePiece {
                    number,
                    text: shown(text.as_bytes()),
                    missing: shown(piece.as_bytes()),
                })
        };
        let pair = (token(left)?, token(right)?);
        token(&[left, right].concat())?;
        // Of a pair that is there twice the first counts.
        if seen.insert(pair) {
            out.push((left.to_owned(), right.to_owned()));
        }
    }
    Ok(out)
}

fn failed(error: tokenizers::Error) -> TextError {
    TextError::Merging {
        words: error.to_string(),
    }
}

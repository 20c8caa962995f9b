//! Errors of vocabularies and tokenizers: what was wrong, where, what was wanted.

use crate::gguf::GgufError;

/// A vocabulary that cannot be used, or a token that a vocabulary does not have. Text in it that comes from the file is escaped and shortened.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The file lacks a key, or a key holds another type.
    #[error(transparent)]
    File(#[from] GgufError),
    /// A tokenizer model that is not read here.
    #[error("tokenizer model `{name}`; known: {known}")]
    UnknownModel {
        /// The model that the file names.
        name: String,
        /// Those that are known.
        known: &'static str,
    },
    /// A way to split text that is not known here. Another way would give other tokens, so none is guessed.
    #[error("pre-tokenizer `{name}` of tokenizer model `gpt2`; known: {known}")]
    UnknownSplitter {
        /// The way that the file names.
        name: String,
        /// Those that are known.
        known: String,
    },
    /// No token at all, or more than ids are for.
    #[error("the vocabulary has {count} tokens; wanted 1 to {most}")]
    TokenCount {
        /// How many there are.
        count: usize,
        /// The most that are read.
        most: usize,
    },
    /// An array that goes along with the tokens and is of another length.
    #[error("{array} has {got} elements; wanted {wanted}, one for each token")]
    Length {
        /// The array.
        array: &'static str,
        /// Its length.
        got: usize,
        /// The number of tokens.
        wanted: usize,
    },
    /// A token's type that the format does not have.
    #[error("token {token} has the type {got}; wanted 0 to 6")]
    TokenType {
        /// The token's id.
        token: u32,
        /// The type's number.
        got: i32,
    },
    /// A byte token whose text names no byte.
    #[error(
        "token {token} is of the type of bytes and reads `{text}`; wanted `<0x00>` to `<0xFF>`"
    )]
    ByteToken {
        /// The token's id.
        token: u32,
        /// Its text.
        text: String,
    },
    /// Two tokens with one text: which is meant could not be told.
    #[error("tokens {first} and {second} are both `{text}`")]
    Twice {
        /// The lower id.
        first: u32,
        /// The higher id.
        second: u32,
        /// The text of both.
        text: String,
    },
    /// More special tokens than are looked for in a text.
    #[error("{count} special tokens; at most {most} are looked for in a text")]
    TooManySpecial {
        /// How many there are.
        count: usize,
        /// The most.
        most: usize,
    },
    /// A score that is not a number, so that it orders nothing.
    #[error("the score of token {token} is not a number")]
    Score {
        /// The token's id.
        token: u32,
    },
    /// A merge that is not two pieces with a space between.
    #[error("merge {number} is `{text}`; wanted two pieces with one space between them")]
    Merge {
        /// Its place in the list, from 0.
        number: usize,
        /// Its text.
        text: String,
    },
    /// A merge of or into a piece that is no token.
    #[error("merge {number}, `{text}`, names the piece `{missing}`, which is no token")]
    MergePiece {
        /// Its place in the list, from 0.
        number: usize,
        /// Its text.
        text: String,
        /// The piece.
        missing: String,
    },
    /// Bytes that no token stands for, in a vocabulary that spells unknown characters byte by byte and has no unknown token either.
    #[error("no token stands for byte 0x{byte:02X}, and the vocabulary has no unknown token")]
    NoByte {
        /// The first such byte.
        byte: u8,
    },
    /// A special token's id beyond the vocabulary.
    #[error("{role} is token {got}; the vocabulary has {count} tokens")]
    SpecialId {
        /// Which special token.
        role: &'static str,
        /// Its id in the file.
        got: u32,
        /// The number of tokens.
        count: usize,
    },
    /// The file asks for a token at the beginning or end of each text, and does not say which.
    #[error("the vocabulary asks for {role} on each text and does not say which token it is")]
    NoSpecialId {
        /// Which special token.
        role: &'static str,
    },
    /// A token that the vocabulary does not have.
    #[error("token {got}; the vocabulary has {count} tokens")]
    NoToken {
        /// The id.
        got: u32,
        /// The number of tokens.
        count: usize,
    },
    /// The library that merges byte pairs refused what was checked before: a fault of this program.
    #[error("byte-pair merging failed: {words}")]
    Merging {
        /// The library's words.
        words: String,
    },
}

/// The most characters of a file's text that an error shows.
const SHOWN: usize = 64;

/// Text of a file, fit to be shown: escaped, so that it cannot steer a terminal, and cut.
pub(super) fn shown(text: &[u8]) -> String {
    // Four bytes hold at least one character.
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * SHOWN)]);
    let escaped: String = text.escape_debug().collect();
    match escaped.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &escaped[..end]),
        None => escaped,
    }
}

//! What can be wrong with a GGUF file, and where.

use std::fmt;
use std::path::PathBuf;

/// A GGUF file that cannot be used as asked. Says where, what was found there, and what was wanted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}{}{place}: {problem}", shown_file(file), shown_at(*at))]
pub struct GgufError {
    /// The file; empty where it was read from bytes in memory.
    pub file: PathBuf,
    /// The byte, from the file's start, at which the faulty item begins. `None` where it is about something that is not there.
    pub at: Option<u64>,
    /// The part of the file.
    pub place: Place,
    /// What is wrong.
    pub problem: Box<GgufProblem>,
}

/// A part of a GGUF file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The file as a whole.
    File,
    /// Its first 24 bytes: magic, version, counts.
    Header,
    /// A metadata entry, counted from 0, whose key could not be read.
    Entry(u64),
    /// The metadata entry of this key, shortened where it is long.
    Key(String),
    /// A tensor's description, counted from 0, whose name could not be read.
    Info(u64),
    /// The tensor of this name.
    Tensor(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File => f.write_str("the file"),
            Place::Header => f.write_str("header"),
            Place::Entry(number) => write!(f, "metadata entry {number}"),
            // Names come from the file: escaped, so that they cannot steer a terminal.
            Place::Key(key) => write!(f, "key `{}`", key.escape_debug()),
            Place::Info(number) => write!(f, "tensor {number}"),
            Place::Tensor(name) => write!(f, "tensor `{}`", name.escape_debug()),
        }
    }
}

fn shown_file(file: &std::path::Path) -> String {
    if file.as_os_str().is_empty() {
        String::new()
    } else {
        format!("{}: ", file.display())
    }
}

fn hex(bytes: &[u8]) -> String {
    let shown: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
    shown.join(" ")
}

fn shown_at(at: Option<u64>) -> String {
    at.map_or_else(String::new, |at| format!("byte {at}, "))
}

/// The ways in which a GGUF file can be wrong, or other than what was asked of it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GgufProblem {
    /// It cannot be opened.
    #[error("it cannot be opened: {words}")]
    Open {
        /// The system's words.
        words: String,
    },
    /// It is a directory, a pipe, a device or the like.
    #[error("it is {what}; wanted a regular file")]
    NotRegular {
        /// What it is.
        what: &'static str,
    },
    /// It has no bytes.
    #[error("it is empty; wanted a GGUF file, which has at least 24 bytes")]
    Empty,
    /// The system refuses to map it, or to release a range of the mapping.
    #[error("the system refuses to {what} {bytes} bytes: {words}")]
    Map {
        /// `map` or `release`.
        what: &'static str,
        /// How many bytes.
        bytes: u64,
        /// The system's words.
        words: String,
    },
    /// An item that would end after the file's end.
    #[error(
        "{what} needs {needs} bytes and the file has {left} left: it is cut short, or the length is wrong"
    )]
    Truncated {
        /// The item.
        what: &'static str,
        /// Its bytes.
        needs: u64,
        /// Bytes from there to the file's end.
        left: u64,
    },
    /// It does not begin as a GGUF file does.
    #[error("it begins with the bytes {}; wanted 47 47 55 46, `GGUF`", hex(got))]
    Magic {
        /// The bytes found.
        got: [u8; 4],
    },
    /// It is written for big-endian machines.
    #[error(
        "version {version} in big-endian byte order; wanted a little-endian file: convert it with the gguf package's `gguf-convert-endian`"
    )]
    BigEndian {
        /// The version that it has in that order.
        version: u32,
    },
    /// A version that this reader does not know.
    #[error("version {got}; wanted 2 or 3{}", if *got == 1 { ": convert the model again with a current converter" } else { "" })]
    Version {
        /// The version found.
        got: u32,
    },
    /// More items than the rest of the file can hold.
    #[error("it claims {got} {what}, and the {left} bytes left hold at most {most}")]
    Count {
        /// The items.
        what: &'static str,
        /// How many are claimed.
        got: u64,
        /// Bytes from there to the file's end.
        left: u64,
        /// How many fit if each is as small as it can be, or the greatest number that the reader counts.
        most: u64,
    },
    /// A key or name longer than the format allows.
    #[error("{what} of {got} bytes; the format allows {most}")]
    Length {
        /// `a key` or `a tensor's name`.
        what: &'static str,
        /// Its bytes.
        got: u64,
        /// The format's limit.
        most: u64,
    },
    /// Bytes that are not text, where text is needed.
    #[error("{what} is not UTF-8 from its byte {valid} on; wanted text")]
    NotUtf8 {
        /// What holds them.
        what: &'static str,
        /// How many bytes at its start are text.
        valid: usize,
    },
    /// A metadata value of a type that the format does not have.
    #[error("value type {got}; wanted 0 to 12")]
    ValueType {
        /// The number found.
        got: u32,
    },
    /// Arrays in arrays, too deep.
    #[error("arrays nested more than {most} deep")]
    Nesting {
        /// The greatest depth read.
        most: u32,
    },
    /// A truth value other than 0 and 1.
    #[error("a bool with the byte {got}; wanted 0 or 1")]
    Bool {
        /// The byte found.
        got: u8,
    },
    /// One key twice.
    #[error("the key occurs a second time; the first is at byte {first}")]
    DuplicateKey {
        /// Where the first one begins.
        first: u64,
    },
    /// One tensor name twice.
    #[error("the name occurs a second time; the first is at byte {first}")]
    DuplicateTensor {
        /// Where the first one's description begins.
        first: u64,
    },
    /// An alignment that the format does not have.
    #[error("the alignment is {got}; wanted a power of two from 8 to {most}")]
    Alignment {
        /// The alignment found.
        got: u64,
        /// The greatest that is read.
        most: u64,
    },
    /// A number of dimensions that the format does not have.
    #[error("{got} dimensions; wanted 1 to 4")]
    Rank {
        /// The number found.
        got: u32,
    },
    /// A dimension without elements.
    #[error("dimension {dim} (fastest first) is 0; wanted at least 1")]
    Extent {
        /// The dimension, from 0, in the file's order.
        dim: usize,
    },
    /// More elements or bytes than 63 bits count.
    #[error("dimensions {dims:?} (fastest first) hold more elements or bytes than 63 bits count")]
    Size {
        /// The dimensions in the file's order.
        dims: Vec<u64>,
    },
    /// A tensor type that this reader does not know, or one that ggml has removed. Its block size is unknown, so nothing about
    /// the tensor's place can be checked.
    #[error("tensor type {got} is none that this reader knows")]
    TensorType {
        /// The number found.
        got: u32,
    },
    /// A row that is not made of whole blocks.
    #[error(
        "the first dimension is {got}; {kind} wants a multiple of its {elements} elements a block"
    )]
    Blocks {
        /// The type's name.
        kind: &'static str,
        /// Elements in one block.
        elements: u64,
        /// The first (fastest) dimension.
        got: u64,
    },
    /// Data that does not begin at a multiple of the alignment.
    #[error(
        "its data begins at offset {got} of the data section; wanted a multiple of {alignment}"
    )]
    Unaligned {
        /// The offset found.
        got: u64,
        /// The file's alignment.
        alignment: u64,
    },
    /// Data that ends after the file's end.
    #[error(
        "its {bytes} bytes begin at offset {offset} of the data section, which has {section} bytes"
    )]
    Outside {
        /// The offset in the data section.
        offset: u64,
        /// The tensor's bytes.
        bytes: u64,
        /// Bytes of the data section.
        section: u64,
    },
    /// Two tensors that share bytes.
    #[error("its data begins at byte {start} of the file, before that of tensor `{}` ends, at byte {end}", other.escape_debug())]
    Overlap {
        /// Where its data begins, from the file's start.
        start: u64,
        /// The tensor before it.
        other: String,
        /// Where that one's data ends.
        end: u64,
    },
    /// No such key.
    #[error("the file does not have it; wanted {wanted}")]
    MissingKey {
        /// The type asked for.
        wanted: &'static str,
    },
    /// A value of another type than asked for.
    #[error("it is {got}; wanted {wanted}")]
    WrongType {
        /// Its type.
        got: String,
        /// The type asked for.
        wanted: &'static str,
    },
    /// A number that the type asked for cannot hold exactly.
    #[error("it holds {got}, which {wanted} cannot hold exactly")]
    Range {
        /// The number.
        got: String,
        /// The type asked for.
        wanted: &'static str,
    },
    /// No such tensor.
    #[error("the file does not have it, among {tensors} tensors")]
    MissingTensor {
        /// How many tensors the file has.
        tensors: usize,
    },
    /// A tensor type that Overt has no dtype for.
    #[error("its type is {kind}, for which there is no dtype; wanted one of {wanted}")]
    NoDtype {
        /// The type's name.
        kind: &'static str,
        /// The types that have one.
        wanted: String,
    },
}

/// A problem at a byte, while its place is not yet known.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: u64,
    pub(super) problem: Box<GgufProblem>,
}

impl Fault {
    pub(super) fn new(at: usize, problem: GgufProblem) -> Fault {
        Fault {
            at: at as u64,
            problem: Box::new(problem),
        }
    }

    /// The error of this fault. The file is filled in where it is known.
    pub(super) fn within(self, place: Place) -> GgufError {
        GgufError {
            file: PathBuf::new(),
            at: Some(self.at),
            place,
            problem: self.problem,
        }
    }
}

/// A name as errors carry it: a hostile one can have 65,535 bytes, and nobody reads more than the start.
pub(super) fn shortened(name: &str) -> String {
    const SHOWN: usize = 96;
    if name.len() <= SHOWN {
        return name.to_owned();
    }
    let end = (0..=SHOWN).rev().find(|i| name.is_char_boundary(*i));
    format!("{}…", &name[..end.unwrap_or(0)])
}

//! Reads GGUF files, the model files of the llama.cpp family, by memory map; and writes small ones.
//!
//! [`GgufFile::open`] maps a file and checks everything in it but the weights themselves; [`Gguf`] gives metadata by key, with
//! typed errors, and tensors by name, as dtype, shape and bytes that lie in the mapping. [`Gguf::parse`] does the same for bytes
//! in memory.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use overt_engine::gguf::{Gguf, GgufWriter};
//!
//! let mut writer = GgufWriter::new();
//! writer.set("general.architecture", "llama")?;
//! writer.set("llama.block_count", 30_u32)?;
//! writer.tensor_f32("output_norm.weight", &[4], &[1.0, 2.0, 3.0, 4.0])?;
//! let bytes = writer.finish();
//!
//! let gguf = Gguf::parse(&bytes)?;
//! assert_eq!(gguf.string("general.architecture")?, "llama");
//! assert_eq!(gguf.u64("llama.block_count")?, 30);
//! assert_eq!(gguf.optional("llama.rope.freq_base", Gguf::f32)?, None);
//! let norm = gguf.tensor("output_norm.weight")?;
//! assert_eq!((norm.dtype(), norm.shape()), (overt::dtype::F32, &[4][..]));
//! # Ok(()) }
//! ```
//!
//! # Hostile files
//!
//! A file is taken for the work of an enemy: no count, length, offset or product in it is used before it was checked, so that
//! parsing neither crashes, nor hangs, nor takes memory beyond a small multiple of the file's own size, and every fault is a
//! [`GgufError`] that names the place, what was found and what was wanted. What the weights do to a model is another matter.
//!
//! Little-endian files of the versions 2 and 3 are read. Models that are split over several files are read one file at a time.

mod contents;
mod cursor;
mod error;
mod exercise;
mod file;
mod getters;
mod index;
mod kind;
mod parse;
mod tensor;
mod value;
mod write;

pub use contents::Gguf;
pub use error::{GgufError, GgufProblem, Place};
#[doc(hidden)]
pub use exercise::{Exercised, exercise};
pub use file::GgufFile;
pub use kind::GgmlType;
pub use tensor::{Tensor, TensorInfo};
pub use value::{Array, MAX_NESTING, Value, ValueType, Values};
pub use write::{GgufWriter, WriteError, WriteValue};

//! Text for models and from them: the tokenizer and the chat template that a model file brings.
//!
//! [`Tokenizer`] makes text into tokens and tokens into text, [`Decoder`] does the latter token by token, and [`ChatTemplate`] makes a conversation
//! into the text that a model was trained on.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use overt_engine::text::{ChatTemplate, Decoder, Message, Rendering, SpecialText, SpecialTokens};
//! use overt_engine::text::{Tokenizer, Vocabulary};
//!
//! let tokens = ["<end>", "h", "i", "hi", "!"];
//! let vocabulary = Vocabulary {
//!     model: "gpt2".into(),
//!     splitter: Some("smollm".into()),
//!     tokens: tokens.iter().map(|text| text.as_bytes().to_vec()).collect(),
//!     types: vec![3, 1, 1, 1, 1],
//!     merges: vec!["h i".into()],
//!     eos: Some(0),
//!     ..Vocabulary::default()
//! };
//! let tokenizer = Tokenizer::new(&vocabulary)?;
//!
//! let template = ChatTemplate::new("{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}", "", "<end>")?;
//! let prompt = template.render(&[Message::new("user", "hi!")], &Rendering::default())?;
//! assert_eq!(tokenizer.encode_prompt(&prompt)?, [3, 4, 0]);
//! assert!(tokenizer.encode(&prompt, SpecialTokens::AsText)?.starts_with(&[3, 4]));
//!
//! let mut decoder = Decoder::new(&tokenizer, SpecialText::Hide);
//! assert_eq!(decoder.push(3)?, "hi");
//! assert!(tokenizer.ends_answer(0)?);
//! # Ok(()) }
//! ```
//!
//! # Whose tokens
//!
//! The tokens of a text are those of llama.cpp on the same file; the tests hold them against it. The kind `gpt2` goes through the crate
//! `tokenizers` for its merges; splitting, special tokens and the kind `llama` are done here, where the crate's own ways give other tokens.
//!
//! # Hostile files
//!
//! A vocabulary and a template are taken for the work of an enemy: every id and length is checked before use, time and memory of building are in
//! proportion to the file, those of encoding to the text, and a template has a bounded number of steps. Text of the file that an error
//! shows is escaped and shortened.

mod bpe;
mod bytes;
mod date;
mod decode;
mod error;
mod json;
mod pieces;
mod special;
mod split;
mod spm;
mod template;
mod tokenizer;
mod vocabulary;

pub use date::Date;
pub use decode::Decoder;
pub use error::TextError;
pub use pieces::TokenKind;
pub use special::SpecialTokens;
pub use template::{ChatTemplate, Message, Rendering, TemplateError};
pub use tokenizer::{SpecialText, Tokenizer};
pub use vocabulary::Vocabulary;

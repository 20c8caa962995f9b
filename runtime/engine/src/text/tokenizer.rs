//! Text into tokens and tokens into bytes.

use super::bpe::BytePairs;
use super::bytes::Letters;
use super::decode::Decoder;
use super::error::{TextError, shown};
use super::pieces::{Pieces, TokenKind};
use super::special::{Part, SpecialTokens, Specials};
use super::spm::Scored;
use super::vocabulary::Vocabulary;
use crate::gguf::Gguf;
use std::sync::Arc;

/// Makes text into tokens and tokens into text, as the model's own tokenizer does. A copy shares everything with its original; any number of
/// threads may use one at once.
#[derive(Clone, Debug)]
pub struct Tokenizer(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    pieces: Pieces,
    specials: Specials,
    model: Model,
    bos: Option<u32>,
    eos: Option<u32>,
    unknown: Option<u32>,
    padding: Option<u32>,
    add_bos: bool,
    add_eos: bool,
}

#[derive(Debug)]
enum Model {
    BytePairs(Box<BytePairs>),
    Scored(Box<Scored>),
}

/// The tokenizer models that are read.
const MODELS: &str = "gpt2, llama";

impl Tokenizer {
    /// The tokenizer of a model file.
    ///
    /// # Errors
    /// Those of [`Vocabulary::from_gguf`] and [`Tokenizer::new`].
    pub fn from_gguf(gguf: &Gguf<'_>) -> Result<Tokenizer, TextError> {
        Tokenizer::new(&Vocabulary::from_gguf(gguf)?)
    }

    /// Checks a vocabulary and builds its tokenizer. The vocabulary may be hostile: building takes time and memory in proportion to it.
    ///
    /// # Errors
    /// A [`TextError`] that names the token, merge or key that is wrong, or the model or way of splitting that is not known.
    pub fn new(vocabulary: &Vocabulary) -> Result<Tokenizer, TextError> {
        let (pieces, model) = match vocabulary.model.as_str() {
            "gpt2" => {
                let letters = Letters::new();
                let pieces = Pieces::new(vocabulary, Some(&letters))?;
                let model = BytePairs::new(vocabulary, letters)?;
                (pieces, Model::BytePairs(Box::new(model)))
            }
            "llama" => {
                let pieces = Pieces::new(vocabulary, None)?;
                let model = Scored::new(vocabulary, &pieces)?;
                (pieces, Model::Scored(Box::new(model)))
            }
            other => {
                return Err(TextError::UnknownModel {
                    name: shown(other.as_bytes()),
                    known: MODELS,
                });
            }
        };
        let by_default = match &model {
            Model::BytePairs(model) => model.add_bos(),
            Model::Scored(_) => true,
        };
        let (add_bos, add_eos) = (
            vocabulary.add_bos.unwrap_or(by_default),
            vocabulary.add_eos.unwrap_or(false),
        );
        for (role, adds, id) in [
            ("a beginning token (bos)", add_bos, vocabulary.bos),
            ("an end token (eos)", add_eos, vocabulary.eos),
        ] {
            if adds && id.is_none() {
                return Err(TextError::NoSpecialId { role });
            }
        }
        Ok(Tokenizer(Arc::new(Parts {
            specials: Specials::new(vocabulary, &pieces)?,
            pieces,
            model,
            bos: vocabulary.bos,
            eos: vocabulary.eos,
            unknown: vocabulary.unknown,
            padding: vocabulary.padding,
            add_bos,
            add_eos,
        })))
    }

    /// The tokens of a text, and nothing besides. Time grows with the text as n log n at most, whatever text it is.
    ///
    /// # Errors
    /// [`TextError::Merging`], which a vocabulary that was accepted does not give.
    pub fn encode(&self, text: &str, special: SpecialTokens) -> Result<Vec<u32>, TextError> {
        let mut out = Vec::with_capacity(text.len() / 3);
        self.append(text, special, &mut out)?;
        Ok(out)
    }

    /// The tokens of a text that stands by itself: with the beginning and end tokens that the file asks for.
    ///
    /// # Errors
    /// Those of [`Tokenizer::encode`].
    pub fn encode_whole(&self, text: &str, special: SpecialTokens) -> Result<Vec<u32>, TextError> {
        let mut out = Vec::with_capacity(text.len() / 3 + 2);
        out.extend(self.0.bos.filter(|_| self.0.add_bos));
        self.append(text, special, &mut out)?;
        out.extend(self.0.eos.filter(|_| self.0.add_eos));
        Ok(out)
    }

    /// The tokens of what a chat template wrote: special tokens are parsed, and where the file asks for a beginning token, one stands at the
    /// beginning, whether the template wrote it or not. No end token follows, since the answer does.
    ///
    /// # Errors
    /// Those of [`Tokenizer::encode`].
    pub fn encode_prompt(&self, prompt: &str) -> Result<Vec<u32>, TextError> {
        let mut out = self.encode(prompt, SpecialTokens::Parse)?;
        if let Some(bos) = self.0.bos
            && self.0.add_bos
            && out.first() != Some(&bos)
        {
            out.insert(0, bos);
        }
        Ok(out)
    }

    fn append(
        &self,
        text: &str,
        special: SpecialTokens,
        out: &mut Vec<u32>,
    ) -> Result<(), TextError> {
        let mut first = true;
        for part in self.0.specials.parts(text, special) {
            match part {
                Part::Token(token) => out.push(token),
                Part::Text(text) => match &self.0.model {
                    Model::BytePairs(model) => model.encode(text, out)?,
                    Model::Scored(model) => model.encode(text, first, out),
                },
            }
            first = matches!(part, Part::Token(_));
        }
        Ok(())
    }

    /// The text of tokens that stand by themselves; the space that `llama` puts before a text is taken away again. Bytes that are no UTF-8
    /// become U+FFFD.
    ///
    /// # Errors
    /// [`TextError::NoToken`].
    pub fn decode(&self, tokens: &[u32], special: SpecialText) -> Result<String, TextError> {
        let mut decoder = Decoder::from_start(self, special);
        let mut text = String::new();
        for token in tokens {
            text.push_str(&decoder.push(*token)?);
        }
        text.push_str(&decoder.finish());
        Ok(text)
    }

    /// The bytes that a token stands for, which need not be UTF-8 by themselves; for a special token its text. Unused tokens have none.
    ///
    /// # Errors
    /// [`TextError::NoToken`].
    pub fn bytes(&self, token: u32) -> Result<&[u8], TextError> {
        self.0.pieces.bytes(token)
    }

    /// What a token is for.
    ///
    /// # Errors
    /// [`TextError::NoToken`].
    pub fn kind(&self, token: u32) -> Result<TokenKind, TextError> {
        self.0.pieces.kind(token)
    }

    /// Whether an answer ends where the model gives this token: the ends of a text, a turn and a message that the file names, and tokens whose
    /// text says so, since a file names one of several.
    ///
    /// # Errors
    /// [`TextError::NoToken`].
    pub fn ends_answer(&self, token: u32) -> Result<bool, TextError> {
        self.0.pieces.ends(token)
    }

    /// The number of tokens; ids are below it.
    pub fn count(&self) -> usize {
        self.0.pieces.count()
    }

    /// The token at the beginning of a text.
    pub fn bos(&self) -> Option<u32> {
        self.0.bos
    }

    /// The token at the end of a text.
    pub fn eos(&self) -> Option<u32> {
        self.0.eos
    }

    /// The token for what no token stands for.
    pub fn unknown(&self) -> Option<u32> {
        self.0.unknown
    }

    /// The token that fills rows of a batch.
    pub fn padding(&self) -> Option<u32> {
        self.0.padding
    }

    pub(super) fn strips_space(&self) -> bool {
        matches!(&self.0.model, Model::Scored(model) if model.space_prefix())
    }
}

/// What becomes of special tokens in text made from tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpecialText {
    /// Control and unknown tokens leave no text.
    Hide,
    /// They leave the text that they are written as.
    Show,
}

//! What a model file says of its tokens.

use super::error::TextError;
use crate::gguf::{Array, Gguf, GgufError, Value};

/// The tokens of a model and how text is made into them: the `tokenizer.ggml.*` keys of a file, as they lie there and not yet checked.
/// [`Tokenizer::new`](super::Tokenizer::new) checks them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vocabulary {
    /// The kind of tokenizer (`model`): `gpt2` (byte pairs in order of a list of merges) or `llama` (pieces in order of their scores).
    pub model: String,
    /// How `gpt2` splits text into words first (`pre`). `None` where the file does not say.
    pub splitter: Option<String>,
    /// The text of each token, by id (`tokens`). UTF-8 by the format, which does not ensure it.
    pub tokens: Vec<Vec<u8>>,
    /// The type of each token (`token_type`); empty where the file does not say, which makes all of them normal.
    pub types: Vec<i32>,
    /// The score of each token (`scores`), the greatest first; `llama` needs it.
    pub scores: Vec<f32>,
    /// Pairs of pieces, with a space between, in order (`merges`); `gpt2` needs it.
    pub merges: Vec<String>,
    /// The token at the beginning of a text (`bos_token_id`).
    pub bos: Option<u32>,
    /// The token at the end of a text (`eos_token_id`).
    pub eos: Option<u32>,
    /// The token at the end of a turn in a conversation (`eot_token_id`).
    pub eot: Option<u32>,
    /// The token at the end of a message to a tool (`eom_token_id`).
    pub eom: Option<u32>,
    /// The token for what no token stands for (`unknown_token_id`).
    pub unknown: Option<u32>,
    /// The token that fills rows of a batch (`padding_token_id`).
    pub padding: Option<u32>,
    /// Whether each text gets a token at its beginning (`add_bos_token`). `None`: as the model and the splitter have it.
    pub add_bos: Option<bool>,
    /// Whether each text gets a token at its end (`add_eos_token`). `None`: no.
    pub add_eos: Option<bool>,
    /// Whether `llama` puts a space before each text (`add_space_prefix`). `None`: yes.
    pub space_prefix: Option<bool>,
}

impl Vocabulary {
    /// Reads the keys of a file. Its strings are copied, so that the file need not stay open.
    ///
    /// # Errors
    /// [`TextError::File`] where a key that every vocabulary has is missing, or a key is of another type than the format says.
    pub fn from_gguf(gguf: &Gguf<'_>) -> Result<Vocabulary, TextError> {
        let id = |key: &str| gguf.optional(key, Gguf::u32);
        let flag = |key: &str| gguf.optional(key, Gguf::bool);
        let types = |gguf: &Gguf<'_>, key: &str| Ok(gguf.i32s(key)?.collect());
        let scores = |gguf: &Gguf<'_>, key: &str| Ok(gguf.f32s(key)?.collect());
        let merges = |gguf: &Gguf<'_>, key: &str| -> Result<Vec<String>, GgufError> {
            gguf.strings(key)?
                .map(|merge| merge.map(str::to_owned))
                .collect()
        };
        let tokens = gguf.array("tokenizer.ggml.tokens")?;
        Ok(Vocabulary {
            model: gguf.string("tokenizer.ggml.model")?.to_owned(),
            splitter: gguf
                .optional("tokenizer.ggml.pre", Gguf::string)?
                .map(str::to_owned),
            tokens: match bytes(tokens) {
                Some(tokens) => tokens,
                // The getter has the words for an array of another type.
                None => gguf
                    .strings("tokenizer.ggml.tokens")?
                    .map(|token| token.map(|text| text.as_bytes().to_vec()))
                    .collect::<Result<_, _>>()?,
            },
            types: gguf
                .optional("tokenizer.ggml.token_type", types)?
                .unwrap_or_default(),
            scores: gguf
                .optional("tokenizer.ggml.scores", scores)?
                .unwrap_or_default(),
            merges: gguf
                .optional("tokenizer.ggml.merges", merges)?
                .unwrap_or_default(),
            bos: id("tokenizer.ggml.bos_token_id")?,
            eos: id("tokenizer.ggml.eos_token_id")?,
            eot: id("tokenizer.ggml.eot_token_id")?,
            eom: id("tokenizer.ggml.eom_token_id")?,
            unknown: id("tokenizer.ggml.unknown_token_id")?,
            padding: id("tokenizer.ggml.padding_token_id")?,
            add_bos: flag("tokenizer.ggml.add_bos_token")?,
            add_eos: flag("tokenizer.ggml.add_eos_token")?,
            space_prefix: flag("tokenizer.ggml.add_space_prefix")?,
        })
    }
}

/// The strings of an array, which need not be UTF-8: a few bytes that no text reaches are no reason to refuse a file.
fn bytes(array: Array<'_>) -> Option<Vec<Vec<u8>>> {
    array
        .values()
        .map(|value| match value {
            Value::String(bytes) => Some(bytes.to_vec()),
            _ => None,
        })
        .collect()
}

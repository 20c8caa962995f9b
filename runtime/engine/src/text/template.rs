//! Chat templates: a conversation as the text that a model was trained on.

mod calls;
mod guard;
mod slice;
mod weight;

use super::date::Date;
use super::json;
use crate::gguf::{Gguf, GgufError};
use guard::{Names, guarded, install};
use minijinja::machinery::{
    CodeGenerator, Instructions, Token, eval, make_string_output, parse, tokenize,
};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Value, context};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who says it: `system`, `user`, `assistant`, or another role that the template knows.
    pub role: String,
    /// What is said.
    pub content: String,
}

impl Message {
    /// A message.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Message {
        Message {
            role: role.into(),
            content: content.into(),
        }
    }
}

/// What to render a conversation with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rendering {
    /// Whether the text ends where the answer of the model begins.
    pub add_generation_prompt: bool,
    /// The day that the template sees as today. Without one it is told that it cannot ask, and templates that name a day have one of their own.
    pub today: Option<Date>,
}

impl Default for Rendering {
    /// An answer is wanted, and there is no date, so that the same conversation gives the same text on any day.
    fn default() -> Rendering {
        Rendering {
            add_generation_prompt: true,
            today: None,
        }
    }
}

/// A template that is missing, cannot be read, or did not render.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The file has none. Each family marks its messages in its own way, so none is guessed: give the model plain text instead, as
    /// [`Tokenizer::encode_whole`](super::Tokenizer::encode_whole) makes it into tokens.
    #[error(
        "the file has no chat template (`tokenizer.chat_template`); wanted one, or a prompt that is given as plain text"
    )]
    Missing,
    /// The key holds something else.
    #[error(transparent)]
    File(#[from] GgufError),
    /// Longer than any template.
    #[error("the chat template has {bytes} bytes; at most {most} are read")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The most.
        most: usize,
    },
    /// It is not written as templates are.
    #[error("the chat template cannot be read: {words}")]
    Syntax {
        /// What the template engine says, with the line.
        words: String,
    },
    /// The template refuses the conversation (`raise_exception`).
    #[error("the chat template refuses this conversation: {words}")]
    Refused {
        /// The template's words, escaped.
        words: String,
    },
    /// It took more steps, or made more text, than any conversation of this length needs.
    #[error(
        "the chat template did not end within {steps} steps (one a byte-run of 64 and an instruction)"
    )]
    Endless {
        /// The steps that it was given.
        steps: u64,
    },
    /// It failed in another way: something undefined, a method that there is not.
    #[error("the chat template failed: {words}")]
    Failed {
        /// What the template engine says, with the line.
        words: String,
    },
}

/// The chat template of a model. The template is the file's, and may be hostile: it reads no file and no variable of the environment, its
/// steps, and with them its time and memory, are bounded, and its recursion fits a stack of 2 MiB.
///
/// Lists nest at most 32 levels, and hold no namespaces, loops and macros; nor do namespaces. A call has no arguments from a list (`*`), `sum`
/// takes numbers, and `map` an attribute or the name of a filter without arguments. Templates in use do with that.
///
/// The text of messages goes into the prompt as it is. Where it holds the text of a special token (`<|im_end|>`), the prompt's tokens will
/// hold that token, as in other programs; whoever takes messages from strangers keeps such text out of them.
#[derive(Clone, Debug)]
pub struct ChatTemplate {
    source: String,
    bos: String,
    eos: String,
}

/// The longest template, in bytes; those in use have a few thousand, and some twenty or thirty thousand. The engine counts lines and columns in
/// 16 bits.
const LONGEST: usize = u16::MAX as usize - 1;

/// The most names and signs of a block; those in use have some tens.
const SIGNS: usize = 512;

/// The most branches of a template; those in use have some tens.
const BRANCHES: usize = 256;

/// The deepest that loops, blocks and macros nest when they run, in the engine's measure. Every name is looked for in all of them.
const DEEPEST: usize = 200;

/// Steps for the template itself: some hundred times what the longest in use takes. One pays for an instruction, or for 64 bytes of text made.
const STEPS: u64 = 1 << 20;

/// The name that errors show.
const NAME: &str = "chat_template";

impl ChatTemplate {
    /// The template of a model file. `bos` and `eos` are the texts of the beginning and end token.
    ///
    /// # Errors
    /// [`TemplateError::Missing`] where the file has none, and those of [`ChatTemplate::new`].
    pub fn from_gguf(gguf: &Gguf<'_>) -> Result<ChatTemplate, TemplateError> {
        let source = gguf
            .optional("tokenizer.chat_template", Gguf::string)?
            .ok_or(TemplateError::Missing)?;
        let text = |key: &str| -> Result<String, GgufError> {
            let Some(id) = gguf.optional(key, Gguf::u32)? else {
                return Ok(String::new());
            };
            // A wrong id, or text that is no UTF-8, is the tokenizer's to report.
            let mut tokens = gguf.array("tokenizer.ggml.tokens")?.values();
            Ok(match tokens.nth(id as usize) {
                Some(crate::gguf::Value::String(bytes)) => {
                    String::from_utf8_lossy(bytes).into_owned()
                }
                _ => String::new(),
            })
        };
        let (bos, eos) = (
            text("tokenizer.ggml.bos_token_id")?,
            text("tokenizer.ggml.eos_token_id")?,
        );
        ChatTemplate::new(source, bos, eos)
    }

    /// A template from its source, in the language of Jinja as Hugging Face's tokenizers use it. `bos` and `eos` are the texts of the
    /// beginning and end token, empty where there is none.
    ///
    /// # Errors
    /// [`TemplateError::Syntax`] and [`TemplateError::TooLong`].
    pub fn new(
        source: impl Into<String>,
        bos: impl Into<String>,
        eos: impl Into<String>,
    ) -> Result<ChatTemplate, TemplateError> {
        let template = ChatTemplate {
            source: source.into(),
            bos: bos.into(),
            eos: eos.into(),
        };
        let bytes = template.source.len();
        if bytes > LONGEST {
            return Err(TemplateError::TooLong {
                bytes,
                most: LONGEST,
            });
        }
        measured(&template.source)?;
        let compiled = compile(&template.source).and_then(|code| Names::of(&code));
        compiled.map_err(|error| TemplateError::Syntax {
            words: words(&error),
        })?;
        Ok(template)
    }

    /// The source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text of a conversation.
    ///
    /// # Errors
    /// [`TemplateError::Refused`], [`TemplateError::Endless`] and [`TemplateError::Failed`].
    pub fn render(&self, messages: &[Message], how: &Rendering) -> Result<String, TemplateError> {
        let mut environment = environment();
        let said: usize = messages
            .iter()
            .map(|m| m.role.len() + m.content.len())
            .sum();
        // One step pays for 64 bytes, so each byte that is said may be handled as often as a template that adds message to message needs.
        let steps = STEPS.saturating_add(said as u64);
        environment.set_fuel(Some(steps));
        if let Some(today) = how.today {
            environment.add_function("strftime_now", move |format: &str| {
                today
                    .format(format)
                    .map_err(|words| Error::new(ErrorKind::InvalidOperation, words))
            });
        }
        let refused: Arc<std::sync::Mutex<Option<String>>> = Arc::default();
        let told = Arc::clone(&refused);
        environment.add_function(
            "raise_exception",
            move |words: &str| -> Result<Value, Error> {
                let shown: String = words
                    .chars()
                    .take(1024)
                    .flat_map(char::escape_debug)
                    .collect();
                if let Ok(mut told) = told.lock() {
                    *told = Some(shown);
                }
                Err(Error::new(ErrorKind::InvalidOperation, "raise_exception"))
            },
        );
        let messages: Vec<Value> = messages
            .iter()
            // A plain map, as the guards know them.
            .map(|m| Value::from_pairs([("role", &m.role), ("content", &m.content)]))
            .collect();
        let values = context! {
            messages,
            add_generation_prompt => how.add_generation_prompt,
            bos_token => &self.bos,
            eos_token => &self.eos,
        };
        let rendered = compile(&self.source).and_then(|code| {
            let names = Names::of(&code)?;
            let code = guarded(&code, &names);
            install(&mut environment, &names);
            let mut text = String::new();
            eval(
                &environment,
                &code,
                values,
                &BTreeMap::new(),
                &mut make_string_output(&mut text),
                AutoEscape::None,
            )?;
            Ok(text)
        });
        rendered.map_err(|error| {
            let words_of_template = refused.lock().ok().and_then(|mut told| told.take());
            match words_of_template {
                Some(words) => TemplateError::Refused { words },
                None if error.kind() == ErrorKind::OutOfFuel => TemplateError::Endless { steps },
                None => TemplateError::Failed {
                    words: words(&error),
                },
            }
        })
    }
}

/// The instructions of a template, written as Hugging Face's tokenizers take them: a line break after a block is no text, nor are spaces
/// before one.
fn compile(source: &str) -> Result<Instructions<'_>, Error> {
    let parsed = parse(source, NAME, syntax())?;
    let mut code = CodeGenerator::new(NAME, source);
    code.compile_stmt(&parsed);
    Ok(code.finish().0)
}

fn syntax() -> SyntaxConfig {
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    syntax.build().unwrap_or_default()
}

/// Refuses blocks that are longer, and branches that are more, than anyone writes: the engine recurses over signs, operators and branches, and
/// some chains take it the square of their length.
fn measured(source: &str) -> Result<(), TemplateError> {
    let mut signs = 0;
    let mut branches = 0;
    for token in tokenize(source, false, syntax()) {
        // The parser words what is no token.
        let Ok((token, span)) = token else { break };
        signs = match token {
            Token::TemplateData(_) | Token::VariableStart | Token::BlockStart => 0,
            _ => signs + 1,
        };
        branches += usize::from(signs == 1 && matches!(token, Token::Ident("elif")));
        let words = match (signs > SIGNS, branches > BRANCHES) {
            (true, _) => format!("a block of more than {SIGNS} names and signs"),
            (_, true) => format!("more than {BRANCHES} branches (`elif`)"),
            _ => continue,
        };
        let line = span.start_line;
        return Err(TemplateError::Syntax {
            words: format!("{words} (line {line})"),
        });
    }
    Ok(())
}

/// The engine as Hugging Face's tokenizers set up theirs: Python's methods are there, and JSON is written as Python writes it.
fn environment<'t>() -> Environment<'t> {
    let mut environment = Environment::new();
    environment.set_recursion_limit(DEEPEST);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_filter("tojson", json::filter);
    environment
}

/// An error of the engine on one line, with the template's line, fit to be shown.
fn words(error: &Error) -> String {
    let mut text = error.kind().to_string();
    if let Some(detail) = error.detail() {
        text = format!("{text}: {detail}");
    }
    if let Some(line) = error.line() {
        text = format!("{text} (line {line})");
    }
    text.chars()
        .take(1024)
        .flat_map(char::escape_debug)
        .collect()
}

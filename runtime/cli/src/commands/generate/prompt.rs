//! From what the user says to tokens.

use crate::exit::{Exit, Failure};
use crate::out::complain;
use overt_engine::gguf::GgufFile;
use overt_engine::text::{
    ChatTemplate, Message, Rendering, SpecialTokens, TemplateError, Tokenizer,
};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Prompts of the command line, then those of files.
pub fn texts(prompts: &[String], files: &[PathBuf]) -> Result<Vec<String>, Failure> {
    let mut texts = prompts.to_vec();
    for path in files {
        texts.push(read(path)?);
    }
    if texts.is_empty() {
        return Err(Failure::new(
            Exit::Usage,
            "there is no prompt: give one behind the model, or a file of one with --file",
        ));
    }
    Ok(texts)
}

fn read(path: &Path) -> Result<String, Failure> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|error| Failure::new(Exit::Usage, format!("prompt {}: {error}", path.display())))
}

/// The file's chat template. Without one prompts are taken as they are, which is said.
pub fn template(file: &GgufFile) -> Result<Option<ChatTemplate>, Failure> {
    match ChatTemplate::from_gguf(&file.contents()) {
        Ok(template) => Ok(Some(template)),
        Err(TemplateError::Missing) => {
            complain("note: the model has no chat template; prompts are taken as they are");
            Ok(None)
        }
        Err(error) => Err(Failure::new(
            Exit::Usage,
            format!("{error}; --raw goes without the template"),
        )),
    }
}

/// The tokens of each prompt.
pub fn tokens(
    tokenizer: &Tokenizer,
    template: Option<&ChatTemplate>,
    system: Option<&str>,
    texts: &[String],
) -> Result<Vec<Vec<u32>>, Failure> {
    let mut prompts = Vec::with_capacity(texts.len());
    for text in texts {
        let tokens = match template {
            None => tokenizer.encode_whole(text, SpecialTokens::Parse)?,
            Some(template) => {
                let mut messages = Vec::with_capacity(2);
                if let Some(system) = system {
                    messages.push(Message::new("system", system));
                }
                messages.push(Message::new("user", text));
                let how = Rendering {
                    add_generation_prompt: true,
                    today: None,
                };
                tokenizer.encode_prompt(&template.render(&messages, &how)?)?
            }
        };
        prompts.push(tokens);
    }
    Ok(prompts)
}

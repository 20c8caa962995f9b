//! Finds kernel declarations in a provider's sources, so that one that a linker dropped is missed.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Kernel ids by the file that declares them: every `kernel! { id: "…"` under a folder.
pub fn kernels(folder: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text =
                    std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                for id in ids(&text) {
                    if let Some(first) = found.insert(id.clone(), path.clone()) {
                        bail!(
                            "kernel `{id}` is declared twice: in {} and in {}",
                            first.display(),
                            path.display()
                        );
                    }
                }
            }
        }
    }
    Ok(found)
}

#[derive(Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Sign(char),
}

/// Ids of the `kernel!` declarations in one source text.
fn ids(text: &str) -> Vec<String> {
    let tokens = tokens(text);
    tokens
        .windows(6)
        .filter_map(|window| match window {
            [
                Token::Word(name),
                Token::Sign('!'),
                Token::Sign('(' | '{' | '['),
                Token::Word(id),
                Token::Sign(':'),
                Token::Text(text),
            ] if name == "kernel" && id == "id" => Some(text.clone()),
            _ => None,
        })
        .collect()
}

/// Words, strings and signs of Rust source, without comments.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    let get = |at: usize| chars.get(at).copied();
    while let Some(c) = get(at) {
        if c == '/' && get(at + 1) == Some('/') {
            while get(at).is_some_and(|c| c != '\n') {
                at += 1;
            }
        } else if c == '/' && get(at + 1) == Some('*') {
            at = after_comment(&chars, at);
        } else if c == '"' {
            let (text, after) = string(&chars, at + 1);
            tokens.push(Token::Text(text));
            at = after;
        } else if c.is_alphanumeric() || c == '_' {
            let start = at;
            while get(at).is_some_and(|c| c.is_alphanumeric() || c == '_') {
                at += 1;
            }
            let word: String = chars[start..at].iter().collect();
            let hashes = chars[at..].iter().take_while(|c| **c == '#').count();
            if matches!(word.as_str(), "r" | "br" | "cr") && get(at + hashes) == Some('"') {
                let (text, after) = raw_string(&chars, at + hashes + 1, hashes);
                tokens.push(Token::Text(text));
                at = after;
            } else {
                tokens.push(Token::Word(word));
            }
        } else if c == '\'' {
            at = after_quote(&chars, at);
        } else {
            if !c.is_whitespace() {
                tokens.push(Token::Sign(c));
            }
            at += 1;
        }
    }
    tokens
}

fn after_comment(chars: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string(chars: &[char], mut at: usize) -> (String, usize) {
    let mut text = String::new();
    while at < chars.len() && chars[at] != '"' {
        if chars[at] == '\\' {
            at += 1;
        }
        text.extend(chars.get(at));
        at += 1;
    }
    (text, at + 1)
}

fn raw_string(chars: &[char], mut at: usize, hashes: usize) -> (String, usize) {
    let mut text = String::new();
    while at < chars.len() {
        let closes = chars[at] == '"'
            && chars[at + 1..]
                .iter()
                .take(hashes)
                .filter(|c| **c == '#')
                .count()
                == hashes;
        if closes {
            return (text, at + 1 + hashes);
        }
        text.push(chars[at]);
        at += 1;
    }
    (text, at)
}

/// Passes a character literal, or the quote of a lifetime.
fn after_quote(chars: &[char], at: usize) -> usize {
    if chars.get(at + 1) == Some(&'\\') {
        let mut end = at + 3;
        while end < chars.len() && chars[end] != '\'' {
            end += 1;
        }
        return end + 1;
    }
    if chars.get(at + 2) == Some(&'\'') {
        at + 3
    } else {
        at + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_found_and_comments_strings_and_near_misses_are_not() {
        let text = r##"
            overt_sdk::kernel! { id: "cpu/add/first", op: "add.1", tier: TUNED }
            kernel!(
                id: "cpu/add/second", // kernel! { id: "cpu/add/comment" }
                op: "add.1");
            /* kernel! { id: "cpu/add/block", /* nested */ } */
            let shown = "kernel! { id: \"cpu/add/string\" }";
            let raw = r#"kernel! { id: "cpu/add/raw" }"#;
            image! { id: "cpu/image" }
            fn f<'a>(quote: char) -> bool { quote == '"' }
            kernel! { id: "cpu/add/third" }
        "##;
        assert_eq!(
            ids(text),
            ["cpu/add/first", "cpu/add/second", "cpu/add/third"]
        );
    }
}

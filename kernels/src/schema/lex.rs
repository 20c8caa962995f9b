//! Tokens of a schema's text.

use super::digest::is_space;
use super::error::{ParseError, ParseErrorKind};
use super::limits::{MAX_NAME, MAX_TEXT};

/// A token, borrowing its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A name or a word of the grammar.
    Word(&'a str),
    /// Digits, with a fraction and an exponent where they stand.
    Number(&'a str),
    /// The raw text between quotes, escapes not yet undone.
    Quoted(&'a str),
    /// One of `( ) [ ] { } , : ; = ? . + - * /`.
    Mark(char),
    /// `->`
    Arrow,
    /// The end of the text.
    End,
}

/// A token and the byte offset at which it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spanned<'a> {
    pub token: Token<'a>,
    pub at: usize,
}

/// Makes the error for a byte offset.
pub(super) fn error_at(
    text: &str,
    offset: usize,
    kind: ParseErrorKind,
    what: impl Into<String>,
    wanted: impl Into<String>,
) -> ParseError {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |n| n + 1);
    ParseError {
        kind,
        what: what.into(),
        wanted: wanted.into(),
        offset,
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

/// Splits a text into tokens. The last one is [`Token::End`].
pub(super) fn lex(text: &str) -> Result<Vec<Spanned<'_>>, ParseError> {
    if text.len() > MAX_TEXT {
        return Err(error_at(
            text,
            0,
            ParseErrorKind::Limit,
            format!("the text has {} bytes", text.len()),
            format!("at most {MAX_TEXT} bytes"),
        ));
    }
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if is_space(byte) {
            at += 1;
            continue;
        }
        let end = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let end = word_end(bytes, at);
                if end - at > MAX_NAME {
                    return Err(error_at(
                        text,
                        at,
                        ParseErrorKind::Limit,
                        format!("a name of {} bytes", end - at),
                        format!("at most {MAX_NAME} bytes"),
                    ));
                }
                out.push(Spanned {
                    token: Token::Word(&text[at..end]),
                    at,
                });
                end
            }
            b'0'..=b'9' => {
                let end = number_end(bytes, at);
                out.push(Spanned {
                    token: Token::Number(&text[at..end]),
                    at,
                });
                end
            }
            b'"' => {
                let end = quoted_end(bytes, at).ok_or_else(|| {
                    error_at(
                        text,
                        at,
                        ParseErrorKind::Syntax,
                        "a quote that never ends",
                        "a closing `\"`",
                    )
                })?;
                out.push(Spanned {
                    token: Token::Quoted(&text[at + 1..end - 1]),
                    at,
                });
                end
            }
            b'-' if bytes.get(at + 1) == Some(&b'>') => {
                out.push(Spanned {
                    token: Token::Arrow,
                    at,
                });
                at + 2
            }
            b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b':' | b';' | b'=' | b'?' | b'.'
            | b'+' | b'-' | b'*' | b'/' => {
                out.push(Spanned {
                    token: Token::Mark(byte as char),
                    at,
                });
                at + 1
            }
            _ => {
                let shown = text[at..].chars().next().unwrap_or('\u{fffd}');
                return Err(error_at(
                    text,
                    at,
                    ParseErrorKind::Syntax,
                    format!("character {shown:?}"),
                    "a name, a number, a quoted text or a mark of the grammar",
                ));
            }
        };
        at = end;
    }
    out.push(Spanned {
        token: Token::End,
        at: bytes.len(),
    });
    Ok(out)
}

fn word_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
        at += 1;
    }
    at
}

fn digits_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at].is_ascii_digit() {
        at += 1;
    }
    at
}

/// A fraction and an exponent belong to the number only where digits follow, so that `op.1` and `1e` are not taken for more
/// than they are.
fn number_end(bytes: &[u8], at: usize) -> usize {
    let mut end = digits_end(bytes, at);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits_end(bytes, end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = matches!(bytes.get(end + 1), Some(b'+' | b'-')) as usize;
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits_end(bytes, end + 1 + sign);
        }
    }
    end
}

/// The offset behind the closing quote.
fn quoted_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

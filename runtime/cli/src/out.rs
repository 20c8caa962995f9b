//! Standard output: text or one JSON value, and a reader that may go away.

use crate::exit::{Exit, Failure};
use serde::Serialize;
use std::io::{ErrorKind, Write};

/// Where a command writes. A reader that closes the pipe (`overt kernels | head`) ends the output, not the program: the exit
/// code still says how the command went.
pub struct Out {
    json: bool,
    printed: bool,
    closed: bool,
    error: Option<std::io::Error>,
}

#[derive(Serialize)]
struct ErrorView<'a> {
    error: ErrorBody<'a>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    kind: Exit,
    exit: u8,
    message: &'a str,
}

impl Out {
    /// Output as text or as JSON.
    pub fn new(json: bool) -> Out {
        Out {
            json,
            printed: false,
            closed: false,
            error: None,
        }
    }

    /// Prints a value: as JSON, or as the text that it is given.
    pub fn value<T: Serialize>(&mut self, value: &T, text: impl FnOnce(&T) -> String) {
        let text = if self.json {
            match serde_json::to_string_pretty(value) {
                Ok(text) => text,
                Err(error) => {
                    self.error = Some(error.into());
                    return;
                }
            }
        } else {
            text(value)
        };
        self.write(&text);
    }

    /// Prints a piece of a text that goes on, at once. JSON has no place for it.
    pub fn stream(&mut self, piece: &str) {
        if !self.json && !piece.is_empty() {
            self.put(piece, "");
        }
    }

    /// Whether JSON was asked for.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether nothing can be written any more.
    pub fn is_closed(&self) -> bool {
        self.closed || self.error.is_some()
    }

    fn write(&mut self, text: &str) {
        self.put(text, if text.ends_with('\n') { "" } else { "\n" });
    }

    fn put(&mut self, text: &str, end: &str) {
        self.printed = true;
        if self.closed {
            return;
        }
        let mut stdout = std::io::stdout().lock();
        let result = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.write_all(end.as_bytes()))
            .and_then(|()| stdout.flush());
        match result {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.closed = true,
            Err(error) => self.error = Some(error),
        }
    }

    /// Reports a failure: for people on standard error, and as JSON where that was asked for and nothing else was printed.
    pub fn failure(&mut self, failure: &Failure) {
        complain(&format!("error: {}", failure.message));
        if self.json && !self.printed {
            let view = ErrorView {
                error: ErrorBody {
                    kind: failure.exit,
                    exit: failure.exit as u8,
                    message: &failure.message,
                },
            };
            self.value(&view, |_| String::new());
        }
    }

    /// The exit code, unless the output could not be written.
    pub fn finish(self, exit: Exit) -> Exit {
        match self.error {
            None => exit,
            Some(error) => {
                complain(&format!("error: standard output: {error}"));
                if exit == Exit::Success {
                    Exit::Provider
                } else {
                    exit
                }
            }
        }
    }
}

/// A line on standard error. A closed one is nobody's loss.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

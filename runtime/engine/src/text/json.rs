//! JSON in templates, written as Python's `json.dumps` writes it, since that is what models were trained on: a space after each comma and colon,
//! and no character escaped that need not be.

use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, Value};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io;

/// The filter `tojson`, with `indent` as its one option; `ensure_ascii` may be given as false.
pub(super) fn filter(value: &Value, options: Kwargs) -> Result<Value, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let ascii: Option<bool> = options.get("ensure_ascii")?;
    options.assert_all_used()?;
    if ascii == Some(true) {
        let words = "tojson(ensure_ascii=true) is not known; wanted false, or nothing";
        return Err(Error::new(ErrorKind::InvalidOperation, words));
    }
    let written = match indent {
        Some(spaces) => write(
            value,
            PrettyFormatter::with_indent(" ".repeat(spaces.min(16)).as_bytes()),
        ),
        None => write(value, Spaced),
    };
    let text = written
        .map_err(|error| Error::new(ErrorKind::BadSerialization, format!("tojson: {error}")))?;
    Ok(Value::from(text))
}

fn write(value: &Value, formatter: impl Formatter) -> Result<String, serde_json::Error> {
    let mut out = Bounded(Vec::new());
    value.serialize(&mut Serializer::with_formatter(&mut out, formatter))?;
    // The serializer writes the text of strings and ASCII.
    Ok(String::from_utf8_lossy(&out.0).into_owned())
}

/// Takes so much and no more. A value may hold another one several times over, level by level, so that a small one is written without end; the
/// engine counts a filter's work by its result, and so after it.
struct Bounded(Vec<u8>);

/// More than a conversation with all its tools takes.
const MOST: usize = 1 << 24;

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > MOST - self.0.len() {
            let words = format!("the text is longer than {MOST} bytes");
            return Err(io::Error::other(words));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Commas and colons with a space after them.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

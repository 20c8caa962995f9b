//! Filters, tests and methods that charge for what they are given before the engine's own look at it, and for what these make.
//!
//! One costs what it is given weighs. Where it does something for each item of a list, it costs the rest of what it is given once for each.

use super::weight::{VALUE, charge, charge_bytes, heaviest, invalid, keep, made};
use minijinja::value::{Object, ObjectRepr, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};
use std::sync::Arc;

/// Filters that look at no more than the ends of a list.
const CHEAP_FILTERS: [&str; 6] = ["length", "count", "first", "last", "default", "d"];

/// Tests that look at a value's kind alone.
const CHEAP_TESTS: [&str; 16] = [
    "defined",
    "undefined",
    "none",
    "boolean",
    "odd",
    "even",
    "number",
    "integer",
    "int",
    "float",
    "string",
    "sequence",
    "iterable",
    "mapping",
    "true",
    "false",
];

/// Methods that look up one key or name.
const CHEAP_METHODS: [&str; 3] = ["get", "cycle", "changed"];

/// Filters with arguments that look at a text as a whole.
const OF_TEXT: [&str; 12] = [
    "attr", "float", "format", "indent", "int", "join", "pprint", "replace", "round", "split",
    "tojson", "trim",
];

/// Filters that compare items with each other, and copy them to do so.
const COMPARING: [&str; 5] = ["sort", "min", "max", "dictsort", "groupby"];

/// Filters that `map` may call by name, without arguments. Each costs what its item weighs, since `map` charges for no result before it has all.
const MAPPED: [&str; 19] = [
    "abs",
    "bool",
    "capitalize",
    "e",
    "escape",
    "first",
    "float",
    "int",
    "items",
    "last",
    "length",
    "list",
    "lower",
    "reverse",
    "safe",
    "string",
    "title",
    "trim",
    "upper",
];

/// The most bytes of the set of characters that are stripped: each character of the text is looked for in all of them.
const STRIPPED: usize = 64;

/// The most digits of a number in a pattern of `format`, and what one field of so wide a number takes.
const DIGITS: usize = 3;
const FIELD: u64 = 1000;

pub(super) fn is_cheap_test(name: &str) -> bool {
    CHEAP_TESTS.contains(&name)
}

pub(super) type Call = fn(&mut State<'_, '_>, &str, &[Value]) -> Result<Value, Error>;

/// A filter, test or method as a function. No function of the environment, since those do not pass options by name on.
#[derive(Debug)]
pub(super) struct Called {
    name: String,
    call: Call,
}

impl Called {
    pub(super) fn new(name: &str, call: Call) -> Called {
        let name = name.to_owned();
        Called { name, call }
    }
}

impl Object for Called {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, values: &[Value]) -> Result<Value, Error> {
        (self.call)(state, &self.name, values)
    }
}

pub(super) fn filter(
    state: &mut State<'_, '_>,
    name: &str,
    values: &[Value],
) -> Result<Value, Error> {
    // The engine takes names with spaces in them, and leaves the spaces out.
    let name: &str = &name.split_ascii_whitespace().collect::<String>();
    let Some((value, rest)) = values.split_first() else {
        return Err(Error::from(ErrorKind::MissingArgument));
    };
    let cheap = CHEAP_FILTERS.contains(&name);
    if !cheap || value.kind() == ValueKind::String {
        charge(state, value)?;
    }
    if !cheap {
        let mut given = 0_u64;
        for value in rest {
            given = given.saturating_add(charge(state, value)?);
            charge_bytes(state, numbers(value))?;
        }
        let items = match (value.as_object(), value.as_str()) {
            (Some(list), _) => list.enumerator_len().unwrap_or(0),
            // The others go through its characters.
            (_, Some(text)) if !OF_TEXT.contains(&name) => text.len(),
            _ => 0,
        } as u64;
        charge_bytes(state, items.saturating_mul(given))?;
        if COMPARING.contains(&name) {
            let most = heaviest(state, value)?;
            charge_bytes(state, items.saturating_mul(most))?;
        }
        match (name, value.as_str()) {
            ("trim", _) => stripped(rest.first())?,
            ("format", Some(pattern)) => fields(state, pattern, '%', given)?,
            ("split" | "lines" | "list", Some(text)) => pieces(state, name, text, rest.first())?,
            ("map", _) => mapped(rest)?,
            ("sum", _) => summed(rest)?,
            _ => {}
        }
    }
    let value = state
        .apply_filter(name, values)
        .map_err(|error| named(error, name))?;
    made(state, value)
}

pub(super) fn test(
    state: &mut State<'_, '_>,
    name: &str,
    values: &[Value],
) -> Result<Value, Error> {
    for value in values {
        charge(state, value)?;
    }
    let holds = state
        .perform_test(name, values)
        .map_err(|error| named(error, name))?;
    Ok(Value::from(holds))
}

/// An error about a filter or test that there is not has no detail where the engine was called by name.
fn named(error: Error, name: &str) -> Error {
    let unknown = matches!(
        error.kind(),
        ErrorKind::UnknownFilter | ErrorKind::UnknownTest
    );
    match unknown && error.detail().is_none() {
        true => Error::new(error.kind(), format!("`{name}`")),
        false => error,
    }
}

pub(super) fn method(
    state: &mut State<'_, '_>,
    name: &str,
    values: &[Value],
) -> Result<Value, Error> {
    let Some((value, rest)) = values.split_first() else {
        return Err(Error::from(ErrorKind::MissingArgument));
    };
    if !CHEAP_METHODS.contains(&name) || value.kind() == ValueKind::String {
        charge(state, value)?;
    }
    let mut given = 0_u64;
    for value in rest {
        // A loop keeps what `changed` is given.
        keep(state, value)?;
        given = given.saturating_add(charge(state, value)?);
    }
    match (name, value.as_str()) {
        // The engine divides by the number of arguments.
        ("cycle", _) if rest.is_empty() => return Err(invalid("cycle: no values are given")),
        ("strip" | "lstrip" | "rstrip", _) => stripped(rest.first())?,
        ("format", Some(pattern)) => fields(state, pattern, '{', given)?,
        ("split" | "splitlines", Some(text)) => pieces(state, name, text, rest.first())?,
        _ => {}
    }
    let value = value.call_method(state, name, rest)?;
    made(state, value)
}

/// What numbers ask for: a width is made as text and a count as a list before anything charges for them.
fn numbers(value: &Value) -> u64 {
    let number = |value: &Value| i64::try_from(value.clone()).map_or(0, i64::unsigned_abs);
    if !value.is_kwargs() {
        return number(value);
    }
    let pairs = value.as_object().and_then(|object| object.try_iter_pairs());
    let pairs = pairs.into_iter().flatten();
    pairs.fold(0, |sum, (_, value)| sum.saturating_add(number(&value)))
}

/// Charges for the pieces that a text is about to fall into, which take more room than it does.
fn pieces(state: &State, name: &str, text: &str, mark: Option<&Value>) -> Result<(), Error> {
    let count = match (name, mark.and_then(Value::as_str)) {
        ("split", Some(mark)) => text.matches(mark).count(),
        ("list", _) => text.chars().count(),
        ("lines" | "splitlines", _) => text.bytes().filter(|byte| *byte == b'\n').count(),
        _ => text.split_whitespace().count(),
    };
    charge_bytes(state, (count as u64 + 1).saturating_mul(2 * VALUE))
}

/// Charges for the fields of a pattern, each of which may show all that is given, and refuses wide numbers in it.
fn fields(state: &State, pattern: &str, mark: char, given: u64) -> Result<(), Error> {
    let mut digits = 0;
    for byte in pattern.bytes() {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        if digits > DIGITS {
            let words = format!("format: a number of more than {DIGITS} digits in the pattern");
            return Err(invalid(&words));
        }
    }
    let count = pattern.matches(mark).count() as u64;
    charge_bytes(state, count.saturating_mul(given.saturating_add(FIELD)))
}

fn stripped(characters: Option<&Value>) -> Result<(), Error> {
    match characters.and_then(Value::as_str) {
        Some(text) if text.len() > STRIPPED => {
            let words = format!("more than {STRIPPED} bytes of characters to strip");
            Err(invalid(&words))
        }
        _ => Ok(()),
    }
}

/// Refuses what `map` would call without a charge.
fn mapped(rest: &[Value]) -> Result<(), Error> {
    let Some(name) = rest.first().and_then(Value::as_str) else {
        return Ok(());
    };
    if rest.len() == 1 && MAPPED.contains(&name) {
        return Ok(());
    }
    let words = format!(
        "map: wanted an attribute, or without arguments one of the filters {}",
        MAPPED.join(", ")
    );
    Err(invalid(&words))
}

/// Refuses to sum anything but numbers: lists and text would be copied for each item.
fn summed(rest: &[Value]) -> Result<(), Error> {
    let options = rest.last().filter(|value| value.is_kwargs());
    let named = options.and_then(|options| options.get_attr("start").ok());
    let start = named.as_ref().into_iter().chain(rest.get(1));
    for start in start {
        if !start.is_undefined() && !start.is_none() && !start.is_kwargs() && !start.is_number() {
            return Err(invalid("sum: wanted a number as start"));
        }
    }
    Ok(())
}

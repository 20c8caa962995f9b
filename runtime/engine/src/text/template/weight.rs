//! What values of a template weigh, and that they are plain: text, numbers, and lists and maps of them.
//!
//! Every list and map is walked when it is made, so each one that there is has been paid for whole, holds nothing lazy, no namespace and so not
//! itself, and is not deep. What the engine does to one, it does in time and memory that are in proportion to its weight.

use minijinja::value::{DynObject, ObjectRepr, Tuple, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};
use std::sync::LazyLock;

/// One of fuel pays for so much weight: the engine's own rate for bytes.
const WEIGHT_OF_FUEL: u64 = 64;

/// The weight of a value, apart from the bytes of its text: about what its place in a list costs.
pub(super) const VALUE: u64 = 16;

/// The most levels of lists in lists. The deepest in use are descriptions of tools, with less than twenty; the engine recurses over levels.
const LEVELS: usize = 32;

/// The most names that a namespace is made with, and that a template sets in namespaces: the engine copies all names to ask whether there are any.
pub(super) const NAMES: usize = 128;

/// Weighs values and pays as it goes, so that a walk stops soon after the fuel does.
struct Scales<'a, 's, 'e> {
    state: &'a State<'s, 'e>,
    unpaid: u64,
    total: u64,
    /// Whether the bytes of text count. They do where it may be gone through, and not where it stays as it is. Keys always do.
    bytes: bool,
}

impl<'a, 's, 'e> Scales<'a, 's, 'e> {
    fn new(state: &'a State<'s, 'e>, bytes: bool) -> Self {
        Scales {
            state,
            unpaid: 0,
            total: 0,
            bytes,
        }
    }

    fn add(&mut self, weight: u64) -> Result<(), Error> {
        self.total = self.total.saturating_add(weight);
        self.unpaid = self.unpaid.saturating_add(weight);
        if self.unpaid < 64 * WEIGHT_OF_FUEL {
            return Ok(());
        }
        let fuel = self.unpaid / WEIGHT_OF_FUEL;
        self.unpaid %= WEIGHT_OF_FUEL;
        self.state.consume_fuel(fuel)
    }

    /// The weight of all that was laid on.
    fn end(self) -> Result<u64, Error> {
        match self.unpaid / WEIGHT_OF_FUEL {
            0 => {}
            fuel => self.state.consume_fuel(fuel)?,
        }
        Ok(self.total)
    }

    fn value(&mut self, value: &Value, levels: usize) -> Result<(), Error> {
        let text = value.as_str().filter(|_| self.bytes);
        self.add(VALUE + text.map_or(0, str::len) as u64)?;
        if value.kind() == ValueKind::Invalid {
            return Err(invalid("a value that an earlier failure left"));
        }
        let Some(object) = value.as_object() else {
            return Ok(());
        };
        let Some(within) = levels.checked_sub(1) else {
            return Err(invalid(&format!("lists nest more than {LEVELS} levels")));
        };
        // By itself, and not within a list, a value may be more than plain.
        let alone = levels == LEVELS;
        if let Some(list) = object.downcast_ref::<Vec<Value>>() {
            list.iter().try_for_each(|value| self.value(value, within))
        } else if let Some(tuple) = object.downcast_ref::<Tuple>() {
            tuple.iter().try_for_each(|value| self.value(value, within))
        } else if is_map(object) || alone && object.repr() == ObjectRepr::Map {
            let mut pairs = object.try_iter_pairs().into_iter().flatten();
            pairs.try_for_each(|(key, value)| self.pair(&key, &value, within))
        } else if alone {
            // A function: nothing of it is walked.
            Ok(())
        } else {
            Err(invalid(
                "a list or namespace holds a namespace, a loop, a macro or a list that is not made yet; wanted text, numbers, lists and maps",
            ))
        }
    }

    fn pair(&mut self, key: &Value, value: &Value, levels: usize) -> Result<(), Error> {
        let bytes = std::mem::replace(&mut self.bytes, true);
        let weighed = self.value(key, levels);
        self.bytes = bytes;
        weighed?;
        self.value(value, levels)
    }
}

/// Charges for all of a value, which is about to be looked at, and says what it weighs.
pub(super) fn charge(state: &State, value: &Value) -> Result<u64, Error> {
    let mut scales = Scales::new(state, true);
    scales.value(value, LEVELS)?;
    scales.end()
}

/// Charges for so many bytes, or what costs as much.
pub(super) fn charge_bytes(state: &State, bytes: u64) -> Result<(), Error> {
    let mut scales = Scales::new(state, true);
    scales.add(bytes)?;
    scales.end().map(drop)
}

/// Refuses a value that is not plain, for what a namespace or loop is about to hold. Options by name are as plain as what they hold.
pub(super) fn keep(state: &State, value: &Value) -> Result<(), Error> {
    let mut scales = Scales::new(state, false);
    match value.as_object().filter(|_| value.is_kwargs()) {
        Some(options) => {
            let mut pairs = options.try_iter_pairs().into_iter().flatten();
            pairs.try_for_each(|(key, value)| scales.pair(&key, &value, LEVELS - 1))?;
        }
        None => scales.value(value, LEVELS - 1)?,
    }
    scales.end().map(drop)
}

/// The weight of the heaviest item of a list or map, which is charged.
pub(super) fn heaviest(state: &State, value: &Value) -> Result<u64, Error> {
    let mut most = 0;
    let pairs = value.as_object().and_then(|object| object.try_iter_pairs());
    for (key, value) in pairs.into_iter().flatten() {
        let mut scales = Scales::new(state, true);
        scales.pair(&key, &value, LEVELS - 1)?;
        most = most.max(scales.end()?);
    }
    Ok(most)
}

/// Charges for a value that has just been made. A lazy list becomes a list, and a lazy map a map.
pub(super) fn made(state: &State, value: Value) -> Result<Value, Error> {
    let Some(object) = value.as_object() else {
        return Ok(value);
    };
    let namespace = is_namespace(object);
    if namespace && object.enumerator_len() > Some(NAMES) {
        let words = format!("a namespace is made with more than {NAMES} names");
        return Err(invalid(&words));
    }
    let plain = object.downcast_ref::<Vec<Value>>().is_some()
        || object.downcast_ref::<Tuple>().is_some()
        || is_map(object)
        || namespace;
    let mut scales = Scales::new(state, false);
    if plain {
        scales.value(&value, LEVELS)?;
        scales.end()?;
        return Ok(value);
    }
    let value = match object.repr() {
        ObjectRepr::Seq | ObjectRepr::Iterable => {
            let mut list = Vec::new();
            for item in value.try_iter()?.checked() {
                let item = item?;
                scales.value(&item, LEVELS - 1)?;
                list.push(item);
            }
            Value::from_object(list)
        }
        ObjectRepr::Map if !is_loop_or_macro(object) => {
            let mut pairs = Vec::new();
            for (key, value) in object.try_iter_pairs().into_iter().flatten() {
                scales.pair(&key, &value, LEVELS - 1)?;
                pairs.push((key, value));
            }
            Value::from_pairs(pairs)
        }
        _ => value,
    };
    scales.end()?;
    Ok(value)
}

/// A map of keys and values, one after the other. Each key is charged for before it is looked for among the others.
pub(super) fn map(state: &State, keys_and_values: &[Value]) -> Result<Value, Error> {
    let mut scales = Scales::new(state, false);
    let mut pairs = Vec::with_capacity(keys_and_values.len() / 2);
    for pair in keys_and_values.chunks_exact(2) {
        scales.pair(&pair[0], &pair[1], LEVELS - 1)?;
        pairs.push((pair[0].clone(), pair[1].clone()));
    }
    scales.end()?;
    Ok(Value::from_pairs(pairs))
}

/// The engine's own map, whose type it does not name.
fn is_map(object: &DynObject) -> bool {
    static NAME: LazyLock<&'static str> = LazyLock::new(|| {
        let map = Value::from_pairs([("", 0)]);
        map.as_object().map_or("", DynObject::type_name)
    });
    object.type_name() == *NAME
}

fn is_namespace(object: &DynObject) -> bool {
    object.type_name().ends_with("::Namespace")
}

fn is_loop_or_macro(object: &DynObject) -> bool {
    let name = object.type_name();
    name.ends_with("::Loop") || name.ends_with("::Macro")
}

pub(super) fn invalid(words: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, words.to_owned())
}

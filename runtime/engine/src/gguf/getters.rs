//! Typed values of keys.

use super::contents::Gguf;
use super::error::{Fault, GgufError, GgufProblem, Place, shortened};
use super::value::{Array, Value, ValueType, Values};
use std::path::PathBuf;

/// Typed getters. Each fails where the file does not have the key, where the value is of another type, and where the type asked for
/// cannot hold it exactly. An integer is taken from any integer type, since writers differ in the widths they choose. An array without
/// elements is taken for one of any type.
impl<'a> Gguf<'a> {
    /// An integer that fits u32.
    pub fn u32(&self, key: &str) -> Result<u32, GgufError> {
        self.integer(key, "u32")
    }

    /// An integer that fits i32.
    pub fn i32(&self, key: &str) -> Result<i32, GgufError> {
        self.integer(key, "i32")
    }

    /// An integer that fits u64.
    pub fn u64(&self, key: &str) -> Result<u64, GgufError> {
        self.integer(key, "u64")
    }

    /// An integer that fits i64.
    pub fn i64(&self, key: &str) -> Result<i64, GgufError> {
        self.integer(key, "i64")
    }

    /// A floating-point number: an f32, or an f64 that f32 holds exactly.
    pub fn f32(&self, key: &str) -> Result<f32, GgufError> {
        const WANTED: &str = "f32";
        let (value, at) = self.wanted(key, WANTED)?;
        as_f32(value).map_err(|problem| self.wrong(key, at, problem))
    }

    /// A floating-point number of either width.
    pub fn f64(&self, key: &str) -> Result<f64, GgufError> {
        const WANTED: &str = "f64";
        let (value, at) = self.wanted(key, WANTED)?;
        let wrong = || self.wrong(key, at, wrong_type(value, WANTED));
        value.float().ok_or_else(wrong)
    }

    /// A truth value.
    pub fn bool(&self, key: &str) -> Result<bool, GgufError> {
        const WANTED: &str = "bool";
        match self.wanted(key, WANTED)? {
            (Value::Bool(v), _) => Ok(v),
            (value, at) => Err(self.wrong(key, at, wrong_type(value, WANTED))),
        }
    }

    /// A string that is UTF-8.
    pub fn string(&self, key: &str) -> Result<&'a str, GgufError> {
        const WANTED: &str = "string";
        match self.wanted(key, WANTED)? {
            (Value::String(bytes), at) => self.text(key, at, bytes),
            (value, at) => Err(self.wrong(key, at, wrong_type(value, WANTED))),
        }
    }

    /// An array of any elements.
    pub fn array(&self, key: &str) -> Result<Array<'a>, GgufError> {
        self.wanted_array(key, "an array").map(|(array, _)| array)
    }

    /// An array of strings, each of which is an error where it is not UTF-8.
    pub fn strings(
        &self,
        key: &str,
    ) -> Result<impl ExactSizeIterator<Item = Result<&'a str, GgufError>> + use<'a>, GgufError>
    {
        const WANTED: &str = "an array of strings";
        let (array, at) = self.wanted_array(key, WANTED)?;
        if array.element() != ValueType::String && !array.is_empty() {
            return Err(self.wrong(key, at, wrong_type(Value::Array(array), WANTED)));
        }
        Ok(Strings {
            values: array.values(),
            file: self.index.file.clone(),
            key: shortened(key),
        })
    }

    /// An array of integers that all fit u32.
    pub fn u32s(
        &self,
        key: &str,
    ) -> Result<impl ExactSizeIterator<Item = u32> + Clone + use<'a>, GgufError> {
        self.integers(key, "u32", "an array of u32")
    }

    /// An array of integers that all fit i32.
    pub fn i32s(
        &self,
        key: &str,
    ) -> Result<impl ExactSizeIterator<Item = i32> + Clone + use<'a>, GgufError> {
        self.integers(key, "i32", "an array of i32")
    }

    /// An array of integers that all fit u64.
    pub fn u64s(
        &self,
        key: &str,
    ) -> Result<impl ExactSizeIterator<Item = u64> + Clone + use<'a>, GgufError> {
        self.integers(key, "u64", "an array of u64")
    }

    /// An array of integers that all fit i64.
    pub fn i64s(
        &self,
        key: &str,
    ) -> Result<impl ExactSizeIterator<Item = i64> + Clone + use<'a>, GgufError> {
        self.integers(key, "i64", "an array of i64")
    }

    /// An array of floating-point numbers that f32 holds exactly.
    pub fn f32s(
        &self,
        key: &str,
    ) -> Result<impl ExactSizeIterator<Item = f32> + Clone + use<'a>, GgufError> {
        self.elements(key, "an array of f32", 0.0, as_f32)
    }

    /// An array of truth values.
    pub fn bools(
        &self,
        key: &str,
    ) -> Result<impl ExactSizeIterator<Item = bool> + Clone + use<'a>, GgufError> {
        self.elements(key, "an array of bool", false, |value| match value {
            Value::Bool(v) => Ok(v),
            other => Err(wrong_type(other, "bool")),
        })
    }

    /// What another getter gives, or `None` where the file does not have the key: `gguf.optional("general.name", Gguf::string)`.
    ///
    /// # Errors
    /// Those of the getter, for a key that the file has: a value of the wrong type is no missing value.
    pub fn optional<T>(
        &self,
        key: &str,
        getter: impl FnOnce(&Gguf<'a>, &str) -> Result<T, GgufError>,
    ) -> Result<Option<T>, GgufError> {
        match self.index.key(self.bytes, key) {
            Some(_) => getter(self, key).map(Some),
            None => Ok(None),
        }
    }

    fn integer<T: TryFrom<i128>>(&self, key: &str, wanted: &'static str) -> Result<T, GgufError> {
        let (value, at) = self.wanted(key, wanted)?;
        as_integer(value, wanted).map_err(|problem| self.wrong(key, at, problem))
    }

    fn integers<T: TryFrom<i128> + Default + Copy>(
        &self,
        key: &str,
        each: &'static str,
        wanted: &'static str,
    ) -> Result<impl ExactSizeIterator<Item = T> + Clone + use<'a, T>, GgufError> {
        self.elements(key, wanted, T::default(), move |v| as_integer(v, each))
    }

    /// Checks every element once, so that the iterator cannot fail. `changed` stands for one that another process changed in between.
    fn elements<T: Copy, F: Fn(Value<'a>) -> Result<T, GgufProblem> + Clone>(
        &self,
        key: &str,
        wanted: &'static str,
        changed: T,
        convert: F,
    ) -> Result<impl ExactSizeIterator<Item = T> + Clone + use<'a, T, F>, GgufError> {
        let (array, at) = self.wanted_array(key, wanted)?;
        let mut values = array.values();
        loop {
            let place = values.at();
            let Some(value) = values.next() else { break };
            match convert(value) {
                Ok(_) => {}
                Err(GgufProblem::WrongType { .. }) => {
                    return Err(self.wrong(key, at, wrong_type(Value::Array(array), wanted)));
                }
                Err(problem) => return Err(self.wrong(key, place, problem)),
            }
        }
        Ok(array.values().map(move |v| convert(v).unwrap_or(changed)))
    }

    fn wanted_array(&self, key: &str, wanted: &'static str) -> Result<(Array<'a>, u64), GgufError> {
        match self.wanted(key, wanted)? {
            (Value::Array(array), at) => Ok((array, at)),
            (value, at) => Err(self.wrong(key, at, wrong_type(value, wanted))),
        }
    }

    /// The value of a key that must be there, and where it begins.
    fn wanted(&self, key: &str, wanted: &'static str) -> Result<(Value<'a>, u64), GgufError> {
        let place = || Place::Key(shortened(key));
        let Some(entry) = self.index.key(self.bytes, key) else {
            return Err(GgufError {
                file: self.index.file.clone(),
                at: None,
                place: place(),
                problem: Box::new(GgufProblem::MissingKey { wanted }),
            });
        };
        match self.read(entry) {
            Ok(value) => Ok((value, entry.value_at() as u64)),
            Err(fault) => Err(self.index.error(fault, place())),
        }
    }

    fn text(&self, key: &str, at: u64, bytes: &'a [u8]) -> Result<&'a str, GgufError> {
        str::from_utf8(bytes).map_err(|error| {
            let valid = error.valid_up_to();
            let what = "the string";
            self.wrong(key, at, GgufProblem::NotUtf8 { what, valid })
        })
    }

    fn wrong(&self, key: &str, at: u64, problem: GgufProblem) -> GgufError {
        let fault = Fault {
            at,
            problem: Box::new(problem),
        };
        self.index.error(fault, Place::Key(shortened(key)))
    }
}

fn as_integer<T: TryFrom<i128>>(value: Value<'_>, wanted: &'static str) -> Result<T, GgufProblem> {
    let integer = value.integer().ok_or_else(|| wrong_type(value, wanted))?;
    T::try_from(integer).map_err(|_| GgufProblem::Range {
        got: integer.to_string(),
        wanted,
    })
}

fn as_f32(value: Value<'_>) -> Result<f32, GgufProblem> {
    const WANTED: &str = "f32";
    match value {
        Value::F32(v) => Ok(v),
        // A rounded value would differ from what the writer meant, without a trace.
        Value::F64(v) if f64::from(v as f32) == v => Ok(v as f32),
        Value::F64(v) => Err(GgufProblem::Range {
            got: v.to_string(),
            wanted: WANTED,
        }),
        other => Err(wrong_type(other, WANTED)),
    }
}

fn wrong_type(value: Value<'_>, wanted: &'static str) -> GgufProblem {
    GgufProblem::WrongType {
        got: value.described(),
        wanted,
    }
}

struct Strings<'a> {
    values: Values<'a>,
    file: PathBuf,
    key: String,
}

impl<'a> Iterator for Strings<'a> {
    type Item = Result<&'a str, GgufError>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.values.at();
        // All elements have the array's type; one that fails to be read ends the iteration, as in `Values`.
        let Value::String(bytes) = self.values.next()? else {
            return None;
        };
        Some(str::from_utf8(bytes).map_err(|error| GgufError {
            file: self.file.clone(),
            at: Some(at),
            place: Place::Key(self.key.clone()),
            problem: Box::new(GgufProblem::NotUtf8 {
                what: "a string of the array",
                valid: error.valid_up_to(),
            }),
        }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.values.size_hint()
    }
}

impl ExactSizeIterator for Strings<'_> {}

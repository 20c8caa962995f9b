//! Metadata values.

use super::cursor::Cursor;
use super::error::{Fault, GgufProblem};
use std::fmt;

/// How deep arrays may be nested: an array of arrays is 2 deep. No writer in use nests at all; the bound keeps reading from
/// recursing as deep as a file says.
pub const MAX_NESTING: u32 = 4;

/// The type of a metadata value, as files number them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say all there is")]
#[repr(u8)]
pub enum ValueType {
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    U64 = 10,
    I64 = 11,
    F64 = 12,
}

impl ValueType {
    /// Every type, by number.
    pub const ALL: [ValueType; 13] = [
        ValueType::U8,
        ValueType::I8,
        ValueType::U16,
        ValueType::I16,
        ValueType::U32,
        ValueType::I32,
        ValueType::F32,
        ValueType::Bool,
        ValueType::String,
        ValueType::Array,
        ValueType::U64,
        ValueType::I64,
        ValueType::F64,
    ];

    /// The type of this number.
    pub fn from_code(code: u32) -> Option<ValueType> {
        usize::try_from(code)
            .ok()
            .and_then(|at| Self::ALL.get(at).copied())
    }

    /// The number in files.
    pub fn code(self) -> u32 {
        u32::from(self as u8)
    }

    /// The name in errors and listings: `u32`.
    pub fn name(self) -> &'static str {
        match self {
            ValueType::U8 => "u8",
            ValueType::I8 => "i8",
            ValueType::U16 => "u16",
            ValueType::I16 => "i16",
            ValueType::U32 => "u32",
            ValueType::I32 => "i32",
            ValueType::F32 => "f32",
            ValueType::Bool => "bool",
            ValueType::String => "string",
            ValueType::Array => "array",
            ValueType::U64 => "u64",
            ValueType::I64 => "i64",
            ValueType::F64 => "f64",
        }
    }

    /// Bytes of a value where all values of the type have the same.
    pub(super) fn fixed_bytes(self) -> Option<u64> {
        match self {
            ValueType::U8 | ValueType::I8 | ValueType::Bool => Some(1),
            ValueType::U16 | ValueType::I16 => Some(2),
            ValueType::U32 | ValueType::I32 | ValueType::F32 => Some(4),
            ValueType::U64 | ValueType::I64 | ValueType::F64 => Some(8),
            ValueType::String | ValueType::Array => None,
        }
    }

    /// The fewest bytes that a value has: those of an empty string or array.
    fn least_bytes(self) -> u64 {
        match self {
            ValueType::String => 8,
            ValueType::Array => 12,
            other => other.fixed_bytes().unwrap_or(1),
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A metadata value. Strings and arrays are borrowed from the file's bytes; a copy copies no contents.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say all there is")]
pub enum Value<'a> {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    /// The string's bytes. The format wants UTF-8 and does not ensure it: the getters that give text check it.
    String(&'a [u8]),
    Array(Array<'a>),
    U64(u64),
    I64(i64),
    F64(f64),
}

impl<'a> Value<'a> {
    /// Its type.
    pub fn value_type(&self) -> ValueType {
        match self {
            Value::U8(_) => ValueType::U8,
            Value::I8(_) => ValueType::I8,
            Value::U16(_) => ValueType::U16,
            Value::I16(_) => ValueType::I16,
            Value::U32(_) => ValueType::U32,
            Value::I32(_) => ValueType::I32,
            Value::F32(_) => ValueType::F32,
            Value::Bool(_) => ValueType::Bool,
            Value::String(_) => ValueType::String,
            Value::Array(_) => ValueType::Array,
            Value::U64(_) => ValueType::U64,
            Value::I64(_) => ValueType::I64,
            Value::F64(_) => ValueType::F64,
        }
    }

    /// Its value where it is an integer of any width.
    pub fn integer(&self) -> Option<i128> {
        Some(match *self {
            Value::U8(v) => v.into(),
            Value::I8(v) => v.into(),
            Value::U16(v) => v.into(),
            Value::I16(v) => v.into(),
            Value::U32(v) => v.into(),
            Value::I32(v) => v.into(),
            Value::U64(v) => v.into(),
            Value::I64(v) => v.into(),
            _ => return None,
        })
    }

    /// Its value where it is a floating-point number; an f32 is exact in f64.
    pub fn float(&self) -> Option<f64> {
        match *self {
            Value::F32(v) => Some(v.into()),
            Value::F64(v) => Some(v),
            _ => None,
        }
    }

    /// Its type in words: `u32`, `an array of 12 strings`.
    pub(super) fn described(&self) -> String {
        match self {
            Value::Array(array) => format!("an array of {} {}", array.len(), array.element()),
            other => other.value_type().name().to_owned(),
        }
    }
}

/// An array in the metadata: its elements' type, their number, and their bytes, borrowed and not expanded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Array<'a> {
    element: ValueType,
    len: u64,
    bytes: &'a [u8],
    /// Where the bytes begin in the file.
    at: usize,
}

impl<'a> Array<'a> {
    /// The type of every element.
    pub fn element(&self) -> ValueType {
        self.element
    }

    /// How many elements it has; at most one for each byte.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its elements as they lie in the file: little-endian numbers without padding; strings and arrays with their lengths.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its elements, one after another. Allocates nothing.
    pub fn values(&self) -> Values<'a> {
        Values {
            cursor: Cursor::part(self.bytes, self.at),
            element: self.element,
            left: self.len(),
        }
    }
}

impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Array({} x {})", self.len, self.element)
    }
}

/// The elements of an [`Array`].
#[derive(Clone)]
pub struct Values<'a> {
    cursor: Cursor<'a>,
    element: ValueType,
    left: usize,
}

impl Values<'_> {
    /// The byte, from the file's start, at which the next element begins.
    pub(super) fn at(&self) -> u64 {
        self.cursor.at() as u64
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        // All elements were read once when the file was parsed, so this fails only where the file changed since: it ends there.
        let value = read(&mut self.cursor, self.element, 1);
        if value.is_err() {
            self.left = 0;
        }
        value.ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Values<'_> {}

/// Reads one value and checks all that is in it. `outer` arrays are around it.
pub(super) fn read<'a>(
    cursor: &mut Cursor<'a>,
    ty: ValueType,
    outer: u32,
) -> Result<Value<'a>, Fault> {
    const WHAT: &str = "a value";
    Ok(match ty {
        ValueType::U8 => Value::U8(u8::from_le_bytes(cursor.array(WHAT)?)),
        ValueType::I8 => Value::I8(i8::from_le_bytes(cursor.array(WHAT)?)),
        ValueType::U16 => Value::U16(u16::from_le_bytes(cursor.array(WHAT)?)),
        ValueType::I16 => Value::I16(i16::from_le_bytes(cursor.array(WHAT)?)),
        ValueType::U32 => Value::U32(u32::from_le_bytes(cursor.array(WHAT)?)),
        ValueType::I32 => Value::I32(i32::from_le_bytes(cursor.array(WHAT)?)),
        ValueType::F32 => Value::F32(f32::from_le_bytes(cursor.array(WHAT)?)),
        ValueType::U64 => Value::U64(u64::from_le_bytes(cursor.array(WHAT)?)),
        ValueType::I64 => Value::I64(i64::from_le_bytes(cursor.array(WHAT)?)),
        ValueType::F64 => Value::F64(f64::from_le_bytes(cursor.array(WHAT)?)),
        ValueType::Bool => {
            let at = cursor.at();
            match cursor.array(WHAT)? {
                [0] => Value::Bool(false),
                [1] => Value::Bool(true),
                [got] => return Err(Fault::new(at, GgufProblem::Bool { got })),
            }
        }
        ValueType::String => Value::String(cursor.string("a string")?),
        ValueType::Array => Value::Array(array(cursor, outer)?),
    })
}

fn array<'a>(cursor: &mut Cursor<'a>, outer: u32) -> Result<Array<'a>, Fault> {
    if outer >= MAX_NESTING {
        return cursor.fault(GgufProblem::Nesting { most: MAX_NESTING });
    }
    let start = *cursor;
    let code = cursor.u32("an array's element type")?;
    let Some(element) = ValueType::from_code(code) else {
        return start.fault(GgufProblem::ValueType { got: code });
    };
    let counted = *cursor;
    let len = cursor.u64("an array's length")?;
    cursor
        .holds(len, "array elements", element.least_bytes())
        .map_err(|fault| Fault {
            at: counted.at() as u64,
            ..fault
        })?;
    let at = cursor.at();
    let elements = *cursor;
    if let Some(bytes) = element.fixed_bytes() {
        // Fits: the count was held against the bytes that are left.
        let taken = cursor.take(len * bytes, "an array")?;
        if element == ValueType::Bool
            && let Some(wrong) = taken.iter().position(|b| *b > 1)
        {
            let got = taken[wrong];
            return Err(Fault::new(at + wrong, GgufProblem::Bool { got }));
        }
    } else {
        for _ in 0..len {
            read(cursor, element, outer + 1)?;
        }
    }
    let mut whole = elements;
    let bytes = whole.take((cursor.at() - at) as u64, "an array")?;
    Ok(Array {
        element,
        len,
        bytes,
        at,
    })
}

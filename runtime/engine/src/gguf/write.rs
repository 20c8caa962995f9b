//! Writes GGUF files: small models for tests of engines, and parts of other files.

use super::kind::GgmlType;
use super::parse::{ALIGNMENT_KEY, DEFAULT_ALIGNMENT, MAX_ALIGNMENT, MAX_KEY, MAX_NAME};
use super::value::{MAX_NESTING, Value, ValueType};
use std::collections::HashSet;
use std::path::Path;

/// Builds a GGUF file of version 3, little-endian, in memory. What it accepts, [`Gguf::parse`](super::Gguf::parse) reads:
/// each part is checked as it is added.
#[derive(Clone, Debug)]
pub struct GgufWriter {
    alignment: u64,
    keys: HashSet<String>,
    entries: Vec<u8>,
    names: HashSet<String>,
    infos: Vec<u8>,
    data: Vec<u8>,
}

/// A metadata value to write. Numbers, text, and slices and vectors of them convert into it.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say all there is")]
pub enum WriteValue {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    /// The format wants UTF-8; other bytes are written as they are, since there are such files to test with.
    String(Vec<u8>),
    /// The type of all elements, and the elements.
    Array(ValueType, Vec<WriteValue>),
    U64(u64),
    I64(i64),
    F64(f64),
}

/// A part that the format cannot hold. Nothing of it was added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// An alignment that the format does not have.
    #[error("alignment {got}; wanted a power of two from 8 to {most}")]
    Alignment {
        /// The alignment given.
        got: u64,
        /// The greatest that is read.
        most: u64,
    },
    /// The alignment after a tensor was placed by the one before.
    #[error("the alignment is set after the first tensor; set it before")]
    AlignmentLate,
    /// The key that holds the alignment, which the writer keeps itself.
    #[error("key `{ALIGNMENT_KEY}` is written by the writer; wanted a call of `align`")]
    AlignmentKey,
    /// A key or name longer than the format allows.
    #[error("{what} `{name}` has {got} bytes; the format allows {most}")]
    Length {
        /// `key` or `tensor`.
        what: &'static str,
        /// It.
        name: String,
        /// Its bytes.
        got: usize,
        /// The format's limit.
        most: u64,
    },
    /// A key or name that is already there.
    #[error("{what} `{name}` is there already")]
    Twice {
        /// `key` or `tensor`.
        what: &'static str,
        /// It.
        name: String,
    },
    /// An array with elements of several types.
    #[error("key `{key}`: an array of {wanted} has an element of type {got}")]
    Mixed {
        /// The key.
        key: String,
        /// The array's element type.
        wanted: ValueType,
        /// The other type.
        got: ValueType,
    },
    /// Arrays in arrays, too deep.
    #[error("key `{key}`: arrays nested more than {MAX_NESTING} deep")]
    Nesting {
        /// The key.
        key: String,
    },
    /// A shape that the format cannot hold.
    #[error(
        "tensor `{name}` of type {kind} has the shape {shape:?}; wanted 1 to 4 dimensions of at least 1, the last of whole blocks of {elements}"
    )]
    Shape {
        /// The tensor.
        name: String,
        /// Its type.
        kind: GgmlType,
        /// The shape given.
        shape: Vec<u64>,
        /// Elements in one block of the type.
        elements: u64,
    },
    /// Data that are not as long as shape and type say.
    #[error("tensor `{name}` has {got} bytes of data; its type and shape want {wanted}")]
    Data {
        /// The tensor.
        name: String,
        /// Bytes given.
        got: usize,
        /// Bytes wanted.
        wanted: u64,
    },
}

impl Default for GgufWriter {
    fn default() -> Self {
        GgufWriter::new()
    }
}

impl GgufWriter {
    /// A file without metadata or tensors, of the format's default alignment, 32.
    pub fn new() -> GgufWriter {
        GgufWriter {
            alignment: DEFAULT_ALIGNMENT,
            keys: HashSet::new(),
            entries: Vec::new(),
            names: HashSet::new(),
            infos: Vec::new(),
            data: Vec::new(),
        }
    }

    /// Sets what tensors are aligned to, in bytes, and writes it down. Once, before the first tensor.
    pub fn align(&mut self, bytes: u32) -> Result<&mut Self, WriteError> {
        let (got, most) = (u64::from(bytes), MAX_ALIGNMENT);
        if !bytes.is_power_of_two() || !(8..=most).contains(&got) {
            return Err(WriteError::Alignment { got, most });
        }
        if !self.names.is_empty() {
            return Err(WriteError::AlignmentLate);
        }
        self.entry(ALIGNMENT_KEY, &WriteValue::U32(bytes))?;
        self.alignment = got;
        Ok(self)
    }

    /// Adds a metadata entry.
    pub fn set(
        &mut self,
        key: &str,
        value: impl Into<WriteValue>,
    ) -> Result<&mut Self, WriteError> {
        if key == ALIGNMENT_KEY {
            return Err(WriteError::AlignmentKey);
        }
        self.entry(key, &value.into())?;
        Ok(self)
    }

    /// Adds a tensor: its shape slowest dimension first, as Overt has it, and its data, dense and little-endian.
    pub fn tensor(
        &mut self,
        name: &str,
        kind: GgmlType,
        shape: &[u64],
        data: &[u8],
    ) -> Result<&mut Self, WriteError> {
        fresh("tensor", name, MAX_NAME, &self.names)?;
        let shaped = (1..=4).contains(&shape.len())
            && shape.iter().all(|d| *d > 0)
            && shape
                .last()
                .is_some_and(|row| row.is_multiple_of(kind.block_elements()));
        let elements = shape.iter().try_fold(1_u64, |n, d| n.checked_mul(*d));
        let Some(wanted) = elements.filter(|_| shaped).and_then(|n| kind.bytes_for(n)) else {
            return Err(WriteError::Shape {
                name: name.to_owned(),
                kind,
                shape: shape.to_owned(),
                elements: kind.block_elements(),
            });
        };
        if data.len() as u64 != wanted {
            return Err(WriteError::Data {
                name: name.to_owned(),
                got: data.len(),
                wanted,
            });
        }
        put_string(&mut self.infos, name.as_bytes());
        self.infos.extend((shape.len() as u32).to_le_bytes());
        for dim in shape.iter().rev() {
            self.infos.extend(dim.to_le_bytes());
        }
        self.infos.extend(kind.code().to_le_bytes());
        self.infos.extend((self.data.len() as u64).to_le_bytes());
        self.data.extend(data);
        pad(&mut self.data, self.alignment);
        self.names.insert(name.to_owned());
        Ok(self)
    }

    /// Adds a tensor of f32 values.
    pub fn tensor_f32(
        &mut self,
        name: &str,
        shape: &[u64],
        values: &[f32],
    ) -> Result<&mut Self, WriteError> {
        let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, GgmlType::F32, shape, &data)
    }

    /// The file's bytes.
    pub fn finish(&self) -> Vec<u8> {
        let mut file = Vec::new();
        file.extend(b"GGUF");
        file.extend(3_u32.to_le_bytes());
        file.extend((self.names.len() as u64).to_le_bytes());
        file.extend((self.keys.len() as u64).to_le_bytes());
        file.extend(&self.entries);
        file.extend(&self.infos);
        if !self.data.is_empty() {
            pad(&mut file, self.alignment);
            file.extend(&self.data);
        }
        file
    }

    /// Writes the file. Not atomic: meant for files that nobody reads yet.
    ///
    /// # Errors
    /// The system's.
    pub fn save(&self, path: impl AsRef<Path>) -> std::io::Result<()> {
        std::fs::write(path, self.finish())
    }

    fn entry(&mut self, key: &str, value: &WriteValue) -> Result<(), WriteError> {
        fresh("key", key, MAX_KEY, &self.keys)?;
        check(key, value, 0)?;
        put_string(&mut self.entries, key.as_bytes());
        self.entries.extend(value.value_type().code().to_le_bytes());
        put(&mut self.entries, value);
        self.keys.insert(key.to_owned());
        Ok(())
    }
}

fn fresh(
    what: &'static str,
    name: &str,
    most: u64,
    there: &HashSet<String>,
) -> Result<(), WriteError> {
    if name.len() as u64 > most {
        return Err(WriteError::Length {
            what,
            name: name.to_owned(),
            got: name.len(),
            most,
        });
    }
    if there.contains(name) {
        let name = name.to_owned();
        return Err(WriteError::Twice { what, name });
    }
    Ok(())
}

fn check(key: &str, value: &WriteValue, outer: u32) -> Result<(), WriteError> {
    let WriteValue::Array(wanted, values) = value else {
        return Ok(());
    };
    if outer >= MAX_NESTING {
        let key = key.to_owned();
        return Err(WriteError::Nesting { key });
    }
    for value in values {
        if value.value_type() != *wanted {
            return Err(WriteError::Mixed {
                key: key.to_owned(),
                wanted: *wanted,
                got: value.value_type(),
            });
        }
        check(key, value, outer + 1)?;
    }
    Ok(())
}

fn put(to: &mut Vec<u8>, value: &WriteValue) {
    match value {
        WriteValue::U8(v) => to.extend(v.to_le_bytes()),
        WriteValue::I8(v) => to.extend(v.to_le_bytes()),
        WriteValue::U16(v) => to.extend(v.to_le_bytes()),
        WriteValue::I16(v) => to.extend(v.to_le_bytes()),
        WriteValue::U32(v) => to.extend(v.to_le_bytes()),
        WriteValue::I32(v) => to.extend(v.to_le_bytes()),
        WriteValue::F32(v) => to.extend(v.to_le_bytes()),
        WriteValue::Bool(v) => to.push(u8::from(*v)),
        WriteValue::String(bytes) => put_string(to, bytes),
        WriteValue::Array(element, values) => {
            to.extend(element.code().to_le_bytes());
            to.extend((values.len() as u64).to_le_bytes());
            for value in values {
                put(to, value);
            }
        }
        WriteValue::U64(v) => to.extend(v.to_le_bytes()),
        WriteValue::I64(v) => to.extend(v.to_le_bytes()),
        WriteValue::F64(v) => to.extend(v.to_le_bytes()),
    }
}

fn put_string(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend((bytes.len() as u64).to_le_bytes());
    to.extend(bytes);
}

fn pad(to: &mut Vec<u8>, alignment: u64) {
    to.resize(to.len().next_multiple_of(alignment as usize), 0);
}

impl WriteValue {
    /// Its type.
    pub fn value_type(&self) -> ValueType {
        match self {
            WriteValue::U8(_) => ValueType::U8,
            WriteValue::I8(_) => ValueType::I8,
            WriteValue::U16(_) => ValueType::U16,
            WriteValue::I16(_) => ValueType::I16,
            WriteValue::U32(_) => ValueType::U32,
            WriteValue::I32(_) => ValueType::I32,
            WriteValue::F32(_) => ValueType::F32,
            WriteValue::Bool(_) => ValueType::Bool,
            WriteValue::String(_) => ValueType::String,
            WriteValue::Array(..) => ValueType::Array,
            WriteValue::U64(_) => ValueType::U64,
            WriteValue::I64(_) => ValueType::I64,
            WriteValue::F64(_) => ValueType::F64,
        }
    }
}

impl From<Value<'_>> for WriteValue {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::U8(v) => WriteValue::U8(v),
            Value::I8(v) => WriteValue::I8(v),
            Value::U16(v) => WriteValue::U16(v),
            Value::I16(v) => WriteValue::I16(v),
            Value::U32(v) => WriteValue::U32(v),
            Value::I32(v) => WriteValue::I32(v),
            Value::F32(v) => WriteValue::F32(v),
            Value::Bool(v) => WriteValue::Bool(v),
            Value::String(bytes) => WriteValue::String(bytes.to_owned()),
            Value::Array(array) => {
                let values = array.values().map(WriteValue::from).collect();
                WriteValue::Array(array.element(), values)
            }
            Value::U64(v) => WriteValue::U64(v),
            Value::I64(v) => WriteValue::I64(v),
            Value::F64(v) => WriteValue::F64(v),
        }
    }
}

macro_rules! conversions {
    ($($from:ty => $to:ident),*) => { $(
        impl From<$from> for WriteValue {
            fn from(value: $from) -> Self {
                WriteValue::$to(value.into())
            }
        }
        impl From<&[$from]> for WriteValue {
            fn from(values: &[$from]) -> Self {
                let values = values.iter().map(|v| v.clone().into()).collect();
                WriteValue::Array(ValueType::$to, values)
            }
        }
        impl From<Vec<$from>> for WriteValue {
            fn from(values: Vec<$from>) -> Self {
                values.as_slice().into()
            }
        }
    )* };
}

conversions!(u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, f32 => F32, bool => Bool);
conversions!(&str => String, String => String, u64 => U64, i64 => I64, f64 => F64);

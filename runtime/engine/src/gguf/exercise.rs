//! Reads all that can be read of a file, for the fuzz target and the tests that run the same without it.

use super::contents::Gguf;
use super::error::{GgufError, Place};
use super::kind::GgmlType;
use super::parse::ALIGNMENT_KEY;
use super::value::{Value, ValueType};
use super::write::{GgufWriter, WriteValue};

/// How much [`exercise`] came by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exercised {
    /// Metadata values, elements of arrays included.
    pub values: u64,
    /// Tensors.
    pub tensors: u64,
    /// Bytes of strings and tensors.
    pub bytes: u64,
    /// A sum over all bytes, so that reading them has a use.
    pub sum: u64,
}

/// Parses bytes, and where they are a GGUF file, reads every value by every getter and every byte of every tensor, and writes it
/// again and compares.
///
/// # Errors
/// The parser's, with its message written out once.
///
/// # Panics
/// A promise of the reader does not hold.
pub fn exercise(bytes: &[u8]) -> Result<Exercised, GgufError> {
    let gguf = match Gguf::parse(bytes) {
        Ok(gguf) => gguf,
        Err(error) => {
            explained(&error, bytes);
            return Err(error);
        }
    };
    let mut seen = Exercised::default();
    let mut keys = 0;
    for (key, value) in gguf.metadata() {
        keys += 1;
        seen.value(value);
        let held = gguf.value(key).expect("a listed key is found");
        assert!(alike(&WriteValue::from(held), &WriteValue::from(value)));
        getters(&gguf, key, value, bytes);
    }
    assert_eq!(keys, gguf.metadata_len(), "every entry is read");
    let mut places = Vec::new();
    for info in gguf.tensors() {
        seen.tensors += 1;
        seen.bytes(info.bytes());
        assert_eq!(gguf.info(info.name()), Some(info));
        assert_eq!(
            info.kind().bytes_for(info.elements()),
            Some(info.bytes().len() as u64)
        );
        let range = info.range();
        assert!(range.start >= gguf.data_start() && range.end <= bytes.len() as u64);
        assert_eq!((range.start - gguf.data_start()) % gguf.alignment(), 0);
        assert_eq!(
            &bytes[range.start as usize..range.end as usize],
            info.bytes()
        );
        places.push((range.start, range.end));
        match gguf.tensor(info.name()) {
            Ok(tensor) => assert_eq!(Some(tensor.dtype()), info.kind().dtype()),
            Err(error) => {
                assert_eq!(info.kind().dtype(), None);
                explained(&error, bytes);
            }
        }
    }
    places.sort_unstable();
    assert!(places.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    again(&gguf);
    Ok(seen)
}

impl Exercised {
    fn value(&mut self, value: Value<'_>) {
        self.values += 1;
        match value {
            Value::String(bytes) => self.bytes(bytes),
            Value::Array(array) => {
                let mut count = 0;
                for value in array.values() {
                    count += 1;
                    assert_eq!(value.value_type(), array.element());
                    self.value(value);
                }
                assert_eq!(count, array.len(), "every element is read");
            }
            _ => {}
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let sum = bytes.iter().fold(0_u64, |sum, b| sum + u64::from(*b));
        self.sum = self.sum.wrapping_add(sum);
    }
}

/// An error says where it is, and writing it out does not fail.
fn explained(error: &GgufError, bytes: &[u8]) {
    assert!(!error.to_string().is_empty());
    match error.at {
        Some(at) => assert!(at <= bytes.len() as u64, "{error}"),
        None => assert!(
            matches!(error.place, Place::Key(_) | Place::Tensor(_)),
            "{error}"
        ),
    }
}

fn getters(gguf: &Gguf<'_>, key: &str, value: Value<'_>, bytes: &[u8]) {
    fn got<T>(result: Result<T, GgufError>, bytes: &[u8]) -> Option<T> {
        result.inspect_err(|error| explained(error, bytes)).ok()
    }
    let integer = value.integer();
    assert_eq!(
        got(gguf.u32(key), bytes).map(i128::from),
        integer.filter(|v| u32::try_from(*v).is_ok())
    );
    assert_eq!(
        got(gguf.i32(key), bytes).map(i128::from),
        integer.filter(|v| i32::try_from(*v).is_ok())
    );
    assert_eq!(
        got(gguf.u64(key), bytes).map(i128::from),
        integer.filter(|v| u64::try_from(*v).is_ok())
    );
    assert_eq!(
        got(gguf.i64(key), bytes).map(i128::from),
        integer.filter(|v| i64::try_from(*v).is_ok())
    );
    let bits = |v: f64| v.to_bits();
    assert_eq!(got(gguf.f64(key), bytes).map(bits), value.float().map(bits));
    let narrow = got(gguf.f32(key), bytes).map(|v| bits(v.into()));
    assert!(narrow.is_none() || narrow == value.float().map(bits));
    let truth = matches!(value, Value::Bool(_));
    assert_eq!(got(gguf.bool(key), bytes).is_some(), truth);
    let text = match value {
        Value::String(bytes) => str::from_utf8(bytes).ok(),
        _ => None,
    };
    assert_eq!(got(gguf.string(key), bytes), text);
    let array = match value {
        Value::Array(array) => Some(array),
        _ => None,
    };
    assert_eq!(got(gguf.array(key), bytes), array);
    let of = |ty| {
        array
            .filter(|a| a.element() == ty || a.is_empty())
            .map(|a| a.len())
    };
    let wide = |n: Option<usize>| n.is_none_or(|n| array.is_some_and(|a| a.len() == n));
    assert!(wide(got(gguf.u32s(key), bytes).map(|v| v.count())));
    assert!(wide(got(gguf.i32s(key), bytes).map(|v| v.count())));
    assert!(wide(got(gguf.u64s(key), bytes).map(|v| v.count())));
    assert!(wide(got(gguf.i64s(key), bytes).map(|v| v.count())));
    assert!(wide(got(gguf.f32s(key), bytes).map(|v| v.count())));
    assert_eq!(
        got(gguf.bools(key), bytes).map(|v| v.count()),
        of(ValueType::Bool)
    );
    if let Some(strings) = got(gguf.strings(key), bytes) {
        assert_eq!(Some(strings.len()), array.map(|a| a.len()));
        for string in strings {
            got(string, bytes);
        }
    }
}

/// What was read can be written, and reads as the same.
fn again(gguf: &Gguf<'_>) {
    let mut writer = GgufWriter::new();
    for (key, value) in gguf.metadata() {
        if key == ALIGNMENT_KEY {
            let aligned = writer.align(gguf.alignment() as u32);
            aligned.expect("an alignment that was read can be written");
        } else {
            let written = writer.set(key, value);
            written.expect("a value that was read can be written");
        }
    }
    for info in gguf.tensors() {
        let shape: Vec<u64> = info.shape().iter().map(|d| *d as u64).collect();
        let written = writer.tensor(info.name(), info.kind(), &shape, info.bytes());
        written.expect("a tensor that was read can be written");
    }
    let bytes = writer.finish();
    let second = Gguf::parse(&bytes).expect("what was written can be read");
    assert_eq!(gguf.alignment(), second.alignment());
    assert_eq!(gguf.metadata_len(), second.metadata_len());
    for (one, two) in gguf.metadata().zip(second.metadata()) {
        assert_eq!(one.0, two.0);
        if one.0 != ALIGNMENT_KEY {
            assert!(alike(&one.1.into(), &two.1.into()), "key {}", one.0);
        }
    }
    assert_eq!(gguf.tensors().len(), second.tensors().len());
    for (one, two) in gguf.tensors().zip(second.tensors()) {
        let parts = |i: super::TensorInfo<'_>| -> (String, GgmlType, Vec<i64>) {
            (i.name().to_owned(), i.kind(), i.shape().to_owned())
        };
        assert_eq!(parts(one), parts(two));
        assert_eq!(one.bytes(), two.bytes());
    }
}

/// Equality in which a NaN equals itself.
fn alike(one: &WriteValue, two: &WriteValue) -> bool {
    match (one, two) {
        (WriteValue::F32(a), WriteValue::F32(b)) => a.to_bits() == b.to_bits(),
        (WriteValue::F64(a), WriteValue::F64(b)) => a.to_bits() == b.to_bits(),
        (WriteValue::Array(s, a), WriteValue::Array(t, b)) => {
            s == t && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (a, b) => a == b,
    }
}

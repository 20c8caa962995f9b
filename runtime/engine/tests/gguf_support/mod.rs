//! Files from raw parts, which hold whatever they are told; and the valid files that tests begin with.
#![allow(dead_code, reason = "each test uses its own part of this")]

use overt_engine::gguf::{GgmlType, GgufWriter, ValueType, WriteValue};

/// A file written item by item, without any check.
#[derive(Clone, Default)]
pub struct Raw(pub Vec<u8>);

impl Raw {
    /// A header with these claims.
    pub fn header(tensors: u64, keys: u64) -> Raw {
        Raw(b"GGUF".to_vec()).u32(3).u64(tensors).u64(keys)
    }

    pub fn bytes(mut self, bytes: &[u8]) -> Raw {
        self.0.extend(bytes);
        self
    }

    pub fn u32(self, value: u32) -> Raw {
        self.bytes(&value.to_le_bytes())
    }

    pub fn u64(self, value: u64) -> Raw {
        self.bytes(&value.to_le_bytes())
    }

    pub fn string(self, text: &str) -> Raw {
        self.u64(text.len() as u64).bytes(text.as_bytes())
    }

    /// A key and its value's type; the value follows.
    pub fn key(self, key: &str, ty: ValueType) -> Raw {
        self.string(key).u32(ty.code())
    }

    /// The start of an array: element type and length.
    pub fn array(self, element: ValueType, len: u64) -> Raw {
        self.u32(element.code()).u64(len)
    }

    /// A tensor's description: extents fastest first, as the file has them.
    pub fn info(self, name: &str, dims: &[u64], kind: u32, offset: u64) -> Raw {
        let named = self.string(name).u32(dims.len() as u32);
        let sized = dims.iter().fold(named, |raw, dim| raw.u64(*dim));
        sized.u32(kind).u64(offset)
    }

    /// Zeros up to a multiple of `alignment`.
    pub fn pad(mut self, alignment: usize) -> Raw {
        self.0.resize(self.0.len().next_multiple_of(alignment), 0);
        self
    }

    pub fn zeros(self, count: usize) -> Raw {
        self.bytes(&vec![0; count])
    }
}

/// A small valid file with every kind of item.
pub fn small() -> Vec<u8> {
    let mut writer = GgufWriter::new();
    writer.align(16).unwrap();
    writer.set("general.architecture", "llama").unwrap();
    writer.set("a.u8", 7_u8).unwrap();
    writer.set("a.i64", -1_i64).unwrap();
    writer.set("a.f64", 0.5_f64).unwrap();
    writer.set("a.bool", true).unwrap();
    writer.set("a.strings", vec!["one", "", "drei"]).unwrap();
    writer.set("a.f32s", vec![1.0_f32, -2.0]).unwrap();
    writer.set("a.bools", vec![true, false]).unwrap();
    let pair = WriteValue::Array(ValueType::U16, vec![WriteValue::U16(1), WriteValue::U16(2)]);
    let none = WriteValue::Array(ValueType::String, Vec::new());
    let nested = WriteValue::Array(ValueType::Array, vec![pair, none]);
    writer.set("a.nested", nested).unwrap();
    writer
        .tensor_f32("norm.weight", &[3], &[1.0, 2.0, 3.0])
        .unwrap();
    let blocks: Vec<u8> = (0..2 * 34).collect();
    writer
        .tensor("w.weight", GgmlType::Q8_0, &[2, 32], &blocks)
        .unwrap();
    writer
        .tensor("odd.weight", GgmlType::Q2_K, &[1, 256], &[9; 84])
        .unwrap();
    writer.finish()
}

/// The file that the format's own library wrote.
pub fn reference() -> Vec<u8> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/files/gguf/all_types.gguf"
    );
    std::fs::read(path).unwrap()
}

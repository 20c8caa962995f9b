//! A file that the format's own library wrote (`files/gguf/make.py`) is read exactly: every metadata type, every tensor type.

use overt_engine::gguf::{GgmlType, Gguf, GgufFile, GgufProblem, Value, ValueType};
use std::path::PathBuf;

fn file() -> GgufFile {
    let path: PathBuf = [
        env!("CARGO_MANIFEST_DIR"),
        "tests/files/gguf/all_types.gguf",
    ]
    .iter()
    .collect();
    GgufFile::open(path).unwrap()
}

/// The values of `one.NAME.*` and of `many.NAME`, which are the same.
fn values<'a>(gguf: &Gguf<'a>, name: &str) -> Vec<Value<'a>> {
    let one: Vec<Value<'a>> = (0..3)
        .map(|n| gguf.value(&format!("one.{name}.{n}")).unwrap())
        .collect();
    let many = gguf.array(&format!("many.{name}")).unwrap();
    let many: Vec<Value<'a>> = many.values().collect();
    assert_eq!(one, many, "{name}");
    one
}

#[test]
fn every_metadata_type_is_read_exactly() {
    let file = file();
    let gguf = file.contents();
    let text = |s: &'static str| Value::String(s.as_bytes());
    let wanted = [
        ("uint8", [Value::U8(0), Value::U8(255), Value::U8(7)]),
        ("int8", [Value::I8(-128), Value::I8(127), Value::I8(-1)]),
        (
            "uint16",
            [Value::U16(0), Value::U16(65535), Value::U16(300)],
        ),
        (
            "int16",
            [Value::I16(i16::MIN), Value::I16(i16::MAX), Value::I16(-300)],
        ),
        (
            "uint32",
            [Value::U32(0), Value::U32(u32::MAX), Value::U32(70000)],
        ),
        (
            "int32",
            [
                Value::I32(i32::MIN),
                Value::I32(i32::MAX),
                Value::I32(-70000),
            ],
        ),
        (
            "float32",
            [Value::F32(0.1), Value::F32(f32::MIN), Value::F32(1e-45)],
        ),
        (
            "bool",
            [Value::Bool(false), Value::Bool(true), Value::Bool(true)],
        ),
        (
            "uint64",
            [Value::U64(0), Value::U64(u64::MAX), Value::U64(1 << 40)],
        ),
        (
            "int64",
            [
                Value::I64(i64::MIN),
                Value::I64(i64::MAX),
                Value::I64(-(1 << 40)),
            ],
        ),
        (
            "float64",
            [Value::F64(0.1), Value::F64(f64::MAX), Value::F64(5e-324)],
        ),
        (
            "string",
            [text(""), text("Grüße, 世界 🦀"), text("a\tb\nc")],
        ),
    ];
    for (name, wanted) in wanted {
        assert_eq!(values(&gguf, name), wanted, "{name}");
    }
    // The architecture, the alignment, four entries for each type, and the nested array.
    assert_eq!(gguf.metadata_len(), 2 + 12 * 4 + 1);
    assert_eq!(gguf.metadata().count(), gguf.metadata_len());
    assert_eq!(gguf.version(), 3);
    assert_eq!(gguf.string("general.architecture").unwrap(), "llama");
    assert_eq!(gguf.alignment(), 64);
}

#[test]
fn nested_arrays_keep_their_shape() {
    let file = file();
    let nested = file.contents().array("nested.two").unwrap();
    assert_eq!((nested.element(), nested.len()), (ValueType::Array, 2));
    let inner: Vec<Vec<i128>> = nested
        .values()
        .map(|value| match value {
            Value::Array(array) => array.values().map(|v| v.integer().unwrap()).collect(),
            other => panic!("{other:?} is no array"),
        })
        .collect();
    assert_eq!(inner, [vec![1, 2, 3], vec![4]]);
}

#[test]
fn typed_arrays_and_integers_of_other_widths() {
    let file = file();
    let gguf = file.contents();
    assert_eq!(gguf.u32("one.uint8.1").unwrap(), 255);
    assert_eq!(gguf.u64("one.int32.1").unwrap(), i32::MAX as u64);
    assert_eq!(gguf.i64("one.int8.0").unwrap(), -128);
    assert_eq!(gguf.i32("one.uint16.1").unwrap(), 65535);
    assert_eq!(gguf.f64("one.float32.0").unwrap(), f64::from(0.1_f32));
    assert!(gguf.bool("one.bool.1").unwrap());
    assert_eq!(
        gguf.f32s("many.float32").unwrap().collect::<Vec<_>>(),
        [0.1, f32::MIN, 1e-45]
    );
    assert_eq!(
        gguf.u32s("many.uint16").unwrap().collect::<Vec<_>>(),
        [0, 65535, 300]
    );
    assert_eq!(
        gguf.i32s("many.int8").unwrap().collect::<Vec<_>>(),
        [-128, 127, -1]
    );
    assert_eq!(
        gguf.u64s("many.uint64").unwrap().collect::<Vec<_>>(),
        [0, u64::MAX, 1 << 40]
    );
    assert_eq!(gguf.i64s("many.int64").unwrap().last(), Some(-(1 << 40)));
    assert_eq!(
        gguf.bools("many.bool").unwrap().collect::<Vec<_>>(),
        [false, true, true]
    );
    let strings: Result<Vec<&str>, _> = gguf.strings("many.string").unwrap().collect();
    assert_eq!(strings.unwrap(), ["", "Grüße, 世界 🦀", "a\tb\nc"]);
}

#[test]
fn every_tensor_type_is_read_exactly() {
    let file = file();
    let gguf = file.contents();
    let mut with_dtype = 0;
    for kind in GgmlType::all() {
        let name = format!("t.{kind}");
        let info = gguf
            .info(&name)
            .unwrap_or_else(|| panic!("{name} is not there"));
        let code = u64::from(kind.code());
        let (elements, bytes) = (kind.block_elements(), kind.block_bytes());
        // The rules of make.py.
        let blocks = if elements == 1 { 2 } else { 1 };
        let rows: &[u64] = match code {
            0 => &[2, 3],
            code if code % 2 == 1 => &[3],
            _ => &[],
        };
        let shape: Vec<i64> = rows
            .iter()
            .chain([&(elements * blocks)])
            .map(|d| *d as i64)
            .collect();
        assert_eq!(info.shape(), shape, "{name}");
        assert_eq!(info.kind(), kind);
        let size = rows.iter().product::<u64>() * bytes * blocks;
        let wanted: Vec<u8> = (0..size)
            .map(|i| (i * 37 + code * 101 + 11) as u8)
            .collect();
        assert_eq!(info.bytes(), wanted, "{name}");
        assert_eq!(info.range().start % 64, 0, "{name}");
        match gguf.tensor(&name) {
            Ok(tensor) => {
                with_dtype += 1;
                assert_eq!(Some(tensor.dtype()), kind.dtype());
                assert_eq!((tensor.bytes(), tensor.shape()), (&wanted[..], &shape[..]));
            }
            Err(error) => {
                assert_eq!(kind.dtype(), None);
                assert!(matches!(*error.problem, GgufProblem::NoDtype { .. }));
                let error = error.to_string();
                assert!(
                    error.contains(&name) && error.contains(kind.name()),
                    "{error}"
                );
                assert!(error.contains("all_types.gguf"), "{error}");
            }
        }
    }
    assert_eq!(gguf.tensors().len(), GgmlType::all().count());
    // Twelve formats of weights, and five plain types beside them.
    assert_eq!(with_dtype, 17);
}

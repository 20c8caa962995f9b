//! The writer: what it refuses, and that what it wrote is read.

use overt_engine::gguf::{
    GgmlType, Gguf, GgufWriter, MAX_NESTING, Value, ValueType, WriteError, WriteValue,
};
use proptest::prelude::*;

fn writer() -> GgufWriter {
    GgufWriter::new()
}

#[test]
fn what_the_format_cannot_hold_is_refused() {
    let mut w = writer();
    w.set("k", 1_u32).unwrap();
    let twice = w.set("k", 2_u32).unwrap_err();
    assert_eq!(twice.to_string(), "key `k` is there already");
    let reserved = w.set("general.alignment", 32_u32).unwrap_err();
    assert_eq!(reserved, WriteError::AlignmentKey);
    let mixed = WriteValue::Array(ValueType::U8, vec![WriteValue::I8(1)]);
    assert!(matches!(w.set("m", mixed), Err(WriteError::Mixed { .. })));
    let long = "k".repeat(65_536);
    assert!(matches!(w.set(&long, 0_u8), Err(WriteError::Length { .. })));
    let nested = |depth| {
        let inner = WriteValue::Array(ValueType::U8, Vec::new());
        (1..depth).fold(inner, |v, _| WriteValue::Array(ValueType::Array, vec![v]))
    };
    w.set("deep", nested(MAX_NESTING)).unwrap();
    let deeper = w.set("deeper", nested(MAX_NESTING + 1));
    assert!(matches!(deeper, Err(WriteError::Nesting { .. })));
    for shape in [&[][..], &[1; 5], &[0], &[3, 0], &[u64::MAX, 2]] {
        let error = w.tensor("t", GgmlType::F32, shape, &[]).unwrap_err();
        assert!(matches!(error, WriteError::Shape { .. }), "{error}");
    }
    let rows = w.tensor("t", GgmlType::Q8_0, &[32, 16], &[0; 34 * 16]);
    assert!(matches!(rows, Err(WriteError::Shape { elements: 32, .. })));
    let short = w.tensor("t", GgmlType::F32, &[2], &[0; 7]).unwrap_err();
    assert!(matches!(
        short,
        WriteError::Data {
            got: 7,
            wanted: 8,
            ..
        }
    ));
    for bytes in [0, 3, 4, 1 << 31] {
        let error = w.align(bytes).unwrap_err();
        assert!(matches!(error, WriteError::Alignment { .. }), "{error}");
    }
    w.tensor_f32("t", &[1], &[1.0]).unwrap();
    assert!(matches!(
        w.tensor_f32("t", &[1], &[1.0]),
        Err(WriteError::Twice { .. })
    ));
    assert!(matches!(
        w.tensor_f32(&"n".repeat(65), &[1], &[1.0]),
        Err(WriteError::Length { .. })
    ));
    assert_eq!(w.align(64).unwrap_err(), WriteError::AlignmentLate);
    // Nothing of what was refused is in the file.
    let bytes = w.finish();
    let gguf = Gguf::parse(&bytes).unwrap();
    let keys: Vec<&str> = gguf.metadata().map(|(key, _)| key).collect();
    assert_eq!(keys, ["k", "deep"]);
    assert_eq!(gguf.tensors().len(), 1);
}

#[test]
fn an_empty_file_is_its_header() {
    let bytes = writer().finish();
    assert_eq!(bytes.len(), 24);
    let gguf = Gguf::parse(&bytes).unwrap();
    assert_eq!((gguf.metadata_len(), gguf.tensors().len()), (0, 0));
}

fn value(depth: u32) -> BoxedStrategy<WriteValue> {
    let scalar = prop_oneof![
        any::<u8>().prop_map(WriteValue::from),
        any::<i16>().prop_map(WriteValue::from),
        any::<u32>().prop_map(WriteValue::from),
        any::<i64>().prop_map(WriteValue::from),
        any::<f32>().prop_map(WriteValue::from),
        any::<f64>().prop_map(WriteValue::from),
        any::<bool>().prop_map(WriteValue::from),
        any::<Vec<u8>>().prop_map(WriteValue::String),
        any::<Vec<u64>>().prop_map(WriteValue::from),
        any::<Vec<String>>().prop_map(WriteValue::from),
    ];
    if depth == 0 {
        return scalar.boxed();
    }
    let inner = any::<Vec<Vec<u16>>>().prop_map(|arrays| {
        let arrays = arrays.into_iter().map(WriteValue::from).collect();
        WriteValue::Array(ValueType::Array, arrays)
    });
    prop_oneof![4 => scalar, 1 => inner].boxed()
}

/// Equal as written: a NaN equals itself.
fn shown(value: &WriteValue) -> String {
    format!("{value:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_was_written_is_read(
        entries in prop::collection::btree_map("[a-z.]{0,12}", value(1), 0..12),
        tensors in prop::collection::btree_map(
            "[a-z.]{0,64}",
            (0..34_usize, prop::collection::vec(1..4_u64, 1..=4), any::<u8>()),
            0..8,
        ),
        alignment in prop::option::of(3..12_u32),
    ) {
        let mut w = writer();
        if let Some(power) = alignment {
            w.align(1 << power).unwrap();
        }
        for (key, value) in &entries {
            w.set(key, value.clone()).unwrap();
        }
        let mut wanted = Vec::new();
        for (name, (kind, shape, fill)) in &tensors {
            let kind = GgmlType::all().nth(*kind).unwrap();
            let mut shape = shape.clone();
            *shape.last_mut().unwrap() *= kind.block_elements();
            let bytes = kind.bytes_for(shape.iter().product()).unwrap();
            let data: Vec<u8> = (0..bytes).map(|i| fill.wrapping_add(i as u8)).collect();
            w.tensor(name, kind, &shape, &data).unwrap();
            wanted.push((name, kind, shape, data));
        }
        let bytes = w.finish();
        let gguf = Gguf::parse(&bytes).unwrap();
        let aligned = usize::from(alignment.is_some());
        prop_assert_eq!(gguf.metadata_len(), entries.len() + aligned);
        for (key, value) in &entries {
            let got = WriteValue::from(gguf.value(key).unwrap());
            prop_assert_eq!(shown(&got), shown(value));
        }
        prop_assert_eq!(gguf.tensors().len(), wanted.len());
        for (info, (name, kind, shape, data)) in gguf.tensors().zip(wanted) {
            prop_assert_eq!((info.name(), info.kind()), (&**name, kind));
            let extents: Vec<u64> = info.shape().iter().map(|d| *d as u64).collect();
            prop_assert_eq!(extents, shape);
            prop_assert_eq!(info.bytes(), data);
        }
    }
}

#[test]
fn values_convert_by_their_type() {
    let mut w = writer();
    w.set("text", "x").unwrap();
    w.set("owned", String::from("y")).unwrap();
    w.set("flags", &[true, false][..]).unwrap();
    let bytes = w.finish();
    let gguf = Gguf::parse(&bytes).unwrap();
    assert_eq!(gguf.value("text"), Some(Value::String(b"x")));
    assert_eq!(gguf.string("owned").unwrap(), "y");
    assert_eq!(
        gguf.bools("flags").unwrap().collect::<Vec<_>>(),
        [true, false]
    );
}

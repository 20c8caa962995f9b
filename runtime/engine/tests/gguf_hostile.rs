//! Files that lie. Each is refused with a typed error that names the place, what was found and what was wanted.

mod gguf_support;

use gguf_support::{Raw, reference, small};
use overt_engine::gguf::{Gguf, GgufError, GgufProblem, MAX_NESTING, Place, ValueType};

const F32: u32 = 0;
const Q8_0: u32 = 8;
const Q4_K: u32 = 12;

/// The error of bytes that are refused, after looking that its message has all of `words`.
#[track_caller]
fn refused(bytes: &[u8], words: &[&str]) -> GgufError {
    let error = Gguf::parse(bytes).unwrap_err();
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "{message} lacks {word}");
    }
    error
}

fn key(name: &str) -> Place {
    Place::Key(name.to_owned())
}

fn tensor(name: &str) -> Place {
    Place::Tensor(name.to_owned())
}

#[test]
fn what_is_no_gguf_file() {
    let error = refused(b"", &["empty", "24 bytes"]);
    assert_eq!((error.at, error.place), (Some(0), Place::Header));
    refused(b"GG", &["the magic number", "needs 4 bytes", "2 left"]);
    refused(b"GGML\x01\0\0\0", &["47 47 4d 4c", "`GGUF`"]);
    refused(&[0; 64], &["00 00 00 00"]);
}

#[test]
fn versions_and_byte_orders() {
    let mut file = small();
    file[4..8].copy_from_slice(&2_u32.to_le_bytes());
    assert_eq!(Gguf::parse(&file).unwrap().version(), 2);
    for (version, words) in [
        (1_u32, "version 1; wanted 2 or 3: convert"),
        (4, "version 4;"),
        (0, "version 0;"),
    ] {
        file[4..8].copy_from_slice(&version.to_le_bytes());
        assert_eq!(refused(&file, &[words]).at, Some(4));
    }
    file[4..8].copy_from_slice(&3_u32.to_be_bytes());
    let error = refused(&file, &["version 3 in big-endian", "little-endian"]);
    assert_eq!(*error.problem, GgufProblem::BigEndian { version: 3 });
}

#[test]
fn counts_beyond_the_file() {
    for claim in [1_000_000_000, 1 << 63, u64::MAX] {
        let shown = claim.to_string();
        let error = refused(
            &Raw::header(claim, 0).zeros(64).0,
            &["tensors", &shown, "at most 2"],
        );
        assert_eq!((error.at, error.place), (Some(24), Place::Header));
        refused(
            &Raw::header(0, claim).zeros(64).0,
            &["metadata entries", &shown, "at most 4"],
        );
        let array = |ty| {
            Raw::header(0, 1)
                .key("k", ValueType::Array)
                .array(ty, claim)
                .zeros(64)
        };
        for ty in ValueType::ALL {
            let error = refused(&array(ty).0, &["array elements", &shown, "key `k`"]);
            assert_eq!(
                (error.at, error.place),
                (Some(24 + 8 + 1 + 4 + 4), key("k"))
            );
        }
    }
    // Enough at the start, and no longer after the metadata.
    let late = Raw::header(2, 1)
        .key("k", ValueType::String)
        .string(&"x".repeat(64));
    refused(&late.0, &["2 tensors", "0 bytes left"]);
}

#[test]
fn lengths_beyond_the_file_and_the_format() {
    let error = refused(
        &Raw::header(0, 1).u64(50).zeros(20).0,
        &["a key", "needs 50", "20 left"],
    );
    assert_eq!(error.place, Place::Entry(0));
    for length in [65_536, u64::MAX, 1 << 63] {
        let words = [&*length.to_string(), "65535"];
        refused(&Raw::header(0, 1).u64(length).zeros(70_000).0, &words);
    }
    for length in [100, u64::MAX, 1 << 63] {
        let file = Raw::header(0, 1)
            .key("k", ValueType::String)
            .u64(length)
            .zeros(9);
        let error = refused(
            &file.0,
            &["a string", &length.to_string(), "key `k`", "9 left"],
        );
        assert_eq!(error.place, key("k"));
    }
    let long = "n".repeat(65);
    let error = refused(
        &Raw::header(1, 0).info(&long, &[1], F32, 0).0,
        &["65 bytes", "allows 64"],
    );
    assert_eq!(error.place, Place::Info(0));
    let longest = "n".repeat(64);
    let file = Raw::header(1, 0)
        .info(&longest, &[1], F32, 0)
        .pad(32)
        .zeros(4)
        .0;
    assert!(Gguf::parse(&file).unwrap().tensor(&longest).is_ok());
}

#[test]
fn names_that_are_no_text() {
    let file = Raw::header(0, 1).u64(3).bytes(b"ab\xff").u32(0).bytes(&[1]);
    refused(&file.0, &["a key is not UTF-8", "byte 2"]);
    let file = Raw::header(1, 0).u64(2).bytes(b"\xc3\x28").zeros(24);
    refused(&file.0, &["a tensor's name is not UTF-8", "byte 0"]);
    // A name that would steer a terminal is escaped.
    let file = Raw::header(0, 1).string("k\x1b[2J").u32(99).zeros(8);
    let message = refused(&file.0, &["value type 99"]).to_string();
    assert!(!message.contains('\x1b'), "{message:?}");
}

#[test]
fn values_of_unknown_types() {
    for got in [13, 255, u32::MAX] {
        let one = Raw::header(0, 1).string("k").u32(got).zeros(64);
        let error = refused(
            &one.0,
            &["key `k`", &format!("value type {got}; wanted 0 to 12")],
        );
        assert_eq!(error.at, Some(33));
        let many = Raw::header(0, 1)
            .key("k", ValueType::Array)
            .u32(got)
            .u64(1)
            .zeros(64);
        refused(&many.0, &["key `k`", &format!("value type {got}")]);
    }
}

#[test]
fn truth_values_other_than_0_and_1() {
    let one = Raw::header(0, 1).key("k", ValueType::Bool).bytes(&[2]);
    assert_eq!(refused(&one.0, &["byte 2; wanted 0 or 1"]).at, Some(37));
    let many = Raw::header(0, 1)
        .key("k", ValueType::Array)
        .array(ValueType::Bool, 3)
        .bytes(&[0, 1, 7]);
    assert_eq!(refused(&many.0, &["byte 7"]).at, Some(51));
}

#[test]
fn arrays_nested_too_deep() {
    let nested = |depth: u32| {
        let start = Raw::header(0, 1).key("k", ValueType::Array);
        let outer = (1..depth).fold(start, |raw, _| raw.array(ValueType::Array, 1));
        outer.array(ValueType::U8, 1).bytes(&[5])
    };
    assert!(Gguf::parse(&nested(MAX_NESTING).0).is_ok());
    let error = refused(
        &nested(MAX_NESTING + 1).0,
        &["key `k`", "nested more than 4"],
    );
    assert_eq!(*error.problem, GgufProblem::Nesting { most: MAX_NESTING });
    refused(&nested(1_000_000).0, &["nested more than 4"]);
}

#[test]
fn duplicate_keys_and_tensors() {
    let file = Raw::header(0, 3)
        .key("twice", ValueType::U8)
        .bytes(&[1])
        .key("once", ValueType::U8)
        .bytes(&[1])
        .key("twice", ValueType::I8)
        .bytes(&[1]);
    let error = refused(&file.0, &["key `twice`", "first is at byte 24"]);
    assert_eq!(error.at, Some(24 + 18 + 17));
    let file = Raw::header(2, 0)
        .info("t", &[1], F32, 0)
        .info("t", &[1], F32, 32)
        .pad(32)
        .zeros(64);
    let error = refused(&file.0, &["tensor `t`", "first is at byte 24"]);
    assert_eq!(error.at, Some(24 + 33));
}

#[test]
fn alignments() {
    let file = |bytes: Raw| bytes.info("t", &[1], F32, 0).pad(64).zeros(4).0;
    let aligned = |got: u32| {
        let entry = Raw::header(1, 1).key("general.alignment", ValueType::U32);
        file(entry.u32(got))
    };
    assert_eq!(Gguf::parse(&aligned(64)).unwrap().alignment(), 64);
    for got in [0, 1, 3, 4, 24, 1 << 22, 1 << 31, u32::MAX] {
        let words = [
            "key `general.alignment`",
            &format!("is {got};"),
            "power of two from 8",
        ];
        refused(&aligned(got), &words);
    }
    let entry = |ty| Raw::header(1, 1).key("general.alignment", ty);
    refused(
        &file(entry(ValueType::I32).u32(u32::MAX)),
        &["it is i32; wanted an unsigned"],
    );
    refused(
        &file(entry(ValueType::String).string("32")),
        &["it is string"],
    );
    refused(
        &file(entry(ValueType::F32).u32(0x4200_0000)),
        &["it is f32"],
    );
    // An alignment that is allowed and puts the data behind the file's end.
    refused(
        &aligned(1 << 21),
        &["tensor `t`", "section, which has 0 bytes"],
    );
}

#[test]
fn shapes() {
    let file = |dims: &[u64], kind| {
        Raw::header(1, 0)
            .info("t", dims, kind, 0)
            .pad(32)
            .zeros(64)
            .0
    };
    for dims in [&[][..], &[1; 5], &[1; 200]] {
        let error = refused(
            &file(dims, F32),
            &[&format!("{} dimensions; wanted 1 to 4", dims.len())],
        );
        assert_eq!(error.place, tensor("t"));
    }
    refused(
        &Raw::header(1, 0).string("t").u32(u32::MAX).zeros(64).0,
        &["4294967295 dimensions"],
    );
    refused(&file(&[4, 0, 2], F32), &["dimension 1", "is 0"]);
    refused(&file(&[0], F32), &["dimension 0"]);
    for dims in [
        &[u64::MAX][..],
        &[1 << 63],
        &[1 << 61],
        &[1 << 32, 1 << 32],
        &[1 << 16, 1 << 16, 1 << 16, 1 << 16],
        &[u64::MAX, u64::MAX, u64::MAX, u64::MAX],
        // Wraps to 1 element.
        &[0xffff_ffff_ffff_ffff, 0xffff_ffff_ffff_ffff],
    ] {
        refused(
            &file(dims, F32),
            &["tensor `t`", &dims[0].to_string(), "63 bits"],
        );
    }
    // The elements fit and their bytes do not.
    refused(&file(&[32, (1 << 58) - 1], Q8_0), &["63 bits"]);
    refused(
        &file(&[100], Q4_K),
        &["Q4_K", "first dimension is 100", "256"],
    );
    refused(&file(&[1, 256], Q4_K), &["first dimension is 1;"]);
}

#[test]
fn types_that_nobody_knows() {
    for got in [4, 5, 31, 36, 38, 42, u32::MAX] {
        let file = Raw::header(1, 0).info("t", &[32], got, 0).pad(32).zeros(64);
        let error = refused(&file.0, &["tensor `t`", &format!("tensor type {got} ")]);
        assert_eq!(error.at, Some(24 + 8 + 1 + 4 + 8));
    }
}

#[test]
fn places_of_data() {
    let one = |offset| {
        Raw::header(1, 0)
            .info("t", &[16], F32, offset)
            .pad(32)
            .zeros(128)
            .0
    };
    assert!(Gguf::parse(&one(64)).is_ok());
    for offset in [1, 8, 33, u64::MAX] {
        refused(
            &one(offset),
            &["tensor `t`", &format!("offset {offset} "), "multiple of 32"],
        );
    }
    for offset in [96, 128, 1 << 40, 1 << 63, u64::MAX - 31] {
        let words = [
            "tensor `t`",
            "64 bytes",
            &format!("offset {offset} "),
            "has 128 bytes",
        ];
        refused(&one(offset), &words);
    }
    let two = |a: (u64, u64), b: (u64, u64)| {
        let infos = Raw::header(2, 0)
            .info("a", &[a.0], F32, a.1)
            .info("b", &[b.0], F32, b.1);
        infos.pad(32).zeros(256).0
    };
    assert!(Gguf::parse(&two((8, 32), (8, 0))).is_ok());
    let error = refused(&two((16, 0), (8, 32)), &["tensor `b`", "tensor `a` ends"]);
    assert!(matches!(*error.problem, GgufProblem::Overlap { .. }));
    refused(&two((8, 64), (64, 0)), &["tensor `a`", "tensor `b` ends"]);
    refused(&two((8, 0), (8, 0)), &["tensor `b`"]);
}

#[test]
fn a_file_cut_at_every_byte_is_refused() {
    for file in [small(), reference()] {
        let gguf = Gguf::parse(&file).unwrap();
        let used = gguf.tensors().map(|t| t.range().end).max().unwrap();
        for len in 0..file.len() {
            let cut = Gguf::parse(&file[..len]);
            // Padding behind the last tensor may be missing.
            assert_eq!(cut.is_ok(), len as u64 >= used, "cut to {len}");
            if let Err(error) = cut {
                assert!(error.at.is_some_and(|at| at <= len as u64), "{error}");
            }
        }
    }
}

/// 60,000 keys and tensors whose names differ at the end only: quadratic work would be seconds, and chosen collisions too.
#[test]
fn many_names_are_read_and_found() {
    const COUNT: u64 = 60_000;
    let name = |n: u64| format!("{}{n:05}", "p".repeat(50));
    let mut file = Raw::header(COUNT, COUNT);
    for n in 0..COUNT {
        file = file.key(&name(n), ValueType::U32).u32(n as u32);
    }
    for n in 0..COUNT {
        file = file.info(&name(n), &[8], F32, n * 32);
    }
    let file = file.pad(32).zeros(COUNT as usize * 32).0;
    let gguf = Gguf::parse(&file).unwrap();
    assert_eq!(gguf.tensors().len() as u64, COUNT);
    for n in (0..COUNT).step_by(997) {
        assert_eq!(gguf.u64(&name(n)).unwrap(), n);
        let range = gguf.tensor(&name(n)).unwrap().range();
        assert_eq!(range.start, gguf.data_start() + n * 32);
    }
}

#[test]
fn getters_say_what_is_missing_and_what_is_wrong() {
    let file = small();
    let gguf = Gguf::parse(&file).unwrap();
    let says = |error: GgufError, words: &[&str]| {
        let message = error.to_string();
        for word in words {
            assert!(message.contains(word), "{message} lacks {word}");
        }
    };
    says(
        gguf.u32("no.such").unwrap_err(),
        &["key `no.such`", "does not have it", "u32"],
    );
    says(
        gguf.f32("a.u8").unwrap_err(),
        &["key `a.u8`", "it is u8; wanted f32"],
    );
    says(
        gguf.u32("a.i64").unwrap_err(),
        &["key `a.i64`", "-1", "u32"],
    );
    says(gguf.bool("a.u8").unwrap_err(), &["it is u8; wanted bool"]);
    says(
        gguf.string("a.strings").unwrap_err(),
        &["an array of 3 string", "wanted string"],
    );
    says(
        gguf.strings("a.f32s").err().unwrap(),
        &["an array of 2 f32"],
    );
    says(gguf.u32s("a.strings").err().unwrap(), &["an array of u32"]);
    says(
        gguf.f32s("general.architecture").err().unwrap(),
        &["it is string"],
    );
    says(
        gguf.tensor("no.weight").unwrap_err(),
        &["tensor `no.weight`", "3 tensors"],
    );
    says(
        gguf.tensor("odd.weight").unwrap_err(),
        &["tensor `odd.weight`", "Q2_K", "Q4_K, Q5_K"],
    );
    assert_eq!(gguf.optional("no.such", Gguf::u32).unwrap(), None);
    assert_eq!(gguf.optional("a.u8", Gguf::u32).unwrap(), Some(7));
    says(
        gguf.optional("a.u8", Gguf::string).unwrap_err(),
        &["it is u8"],
    );
    assert_eq!(gguf.f32("a.f64").unwrap(), 0.5);

    let raw = Raw::header(0, 3)
        .key("text", ValueType::String)
        .u64(2)
        .bytes(b"a\xff")
        .key("texts", ValueType::Array)
        .array(ValueType::String, 2)
        .string("fine")
        .u64(1)
        .bytes(b"\x80")
        .key("exact", ValueType::F64)
        .bytes(&0.1_f64.to_le_bytes());
    let gguf = Gguf::parse(&raw.0).unwrap();
    says(
        gguf.string("text").unwrap_err(),
        &["key `text`", "not UTF-8 from its byte 1"],
    );
    let texts: Vec<_> = gguf.strings("texts").unwrap().collect();
    assert_eq!(texts[0], Ok("fine"));
    says(
        texts[1].clone().unwrap_err(),
        &["key `texts`", "a string of the array"],
    );
    says(
        gguf.f32("exact").unwrap_err(),
        &["0.1", "f32 cannot hold exactly"],
    );
}

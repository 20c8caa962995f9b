//! Element types: sizes, and numbers decoded and rounded as an independent library does it.

use half::{bf16, f16};
use overt_kernels::dtype::{self, BF16, F16, F32, F64, I8, I32, I64, Q4_K, Q8_0, Shown, U8, U64};
use overt_kernels::host::{Element, HostError, HostTensor};
use proptest::prelude::*;

fn decode(dtype: overt_abi::OvertDType, bits: u16) -> f64 {
    Element::of(dtype).unwrap().read_f64(&bits.to_le_bytes())
}

fn encode(dtype: overt_abi::OvertDType, value: f64) -> u16 {
    let mut bytes = [0; 2];
    Element::of(dtype).unwrap().write_f64(&mut bytes, value);
    u16::from_le_bytes(bytes)
}

fn same(a: f64, b: f64) -> bool {
    a.is_nan() && b.is_nan() || a.to_bits() == b.to_bits()
}

#[test]
fn every_pattern_of_16_bits_decodes_and_encodes_again() {
    for bits in 0..=u16::MAX {
        let (h, b) = (decode(F16, bits), decode(BF16, bits));
        assert!(
            same(h, f16::from_bits(bits).to_f64()),
            "f16 {bits:#06x}: {h}"
        );
        assert!(
            same(b, bf16::from_bits(bits).to_f64()),
            "bf16 {bits:#06x}: {b}"
        );
        if h.is_nan() {
            assert!(f16::from_bits(encode(F16, h)).is_nan());
        } else {
            assert_eq!(encode(F16, h), bits);
        }
        if b.is_nan() {
            assert!(bf16::from_bits(encode(BF16, b)).is_nan());
        } else {
            assert_eq!(encode(BF16, b), bits);
        }
    }
}

/// Between every two neighbours: the tie goes to the even one, and a hair beside it to the nearer. This needs no other
/// library, so that one's own faults do not count.
#[test]
fn rounding_is_to_nearest_and_ties_to_even_between_all_neighbours() {
    for dtype in [F16, BF16] {
        let infinity = encode(dtype, f64::INFINITY);
        for low in 0..infinity - 1 {
            let (a, b) = (decode(dtype, low), decode(dtype, low + 1));
            let tie = (a + b) / 2.0;
            let even = if low % 2 == 0 { low } else { low + 1 };
            assert_eq!(
                encode(dtype, tie),
                even,
                "{} tie above {low:#06x}",
                Shown(dtype)
            );
            assert_eq!(
                encode(dtype, tie.next_down()),
                low,
                "{} below the tie",
                Shown(dtype)
            );
            assert_eq!(
                encode(dtype, tie.next_up()),
                low + 1,
                "{} above the tie",
                Shown(dtype)
            );
            assert_eq!(encode(dtype, -tie), even | 0x8000);
        }
        let (last, before) = (decode(dtype, infinity - 1), decode(dtype, infinity - 2));
        let tie = last + (last - before) / 2.0;
        assert_eq!(encode(dtype, tie.next_down()), infinity - 1);
        assert_eq!(encode(dtype, tie), infinity);
        assert_eq!(encode(dtype, f64::MAX), infinity);
        assert_eq!(encode(dtype, f64::MIN_POSITIVE / 4.0), 0);
        assert_eq!(encode(dtype, -0.0), 0x8000);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    // The library may round f64 by way of f32, so only values that f32 holds are compared.
    #[test]
    fn rounding_from_f32_agrees_with_the_library(bits in any::<u32>()) {
        let value = f32::from_bits(bits);
        prop_assume!(!value.is_nan());
        prop_assert_eq!(encode(F16, f64::from(value)), f16::from_f32(value).to_bits());
        prop_assert_eq!(encode(BF16, f64::from(value)), bf16::from_f32(value).to_bits());
    }
}

#[test]
fn integers_round_saturate_and_keep_their_sign() {
    let store = |dtype, value: f64| {
        let mut tensor = HostTensor::contiguous(dtype, &[1]).unwrap();
        tensor.set_f64(&[0], value).unwrap();
        tensor.get_i64(&[0]).unwrap()
    };
    assert_eq!(store(I8, 2.5), 2);
    assert_eq!(store(I8, 3.5), 4);
    assert_eq!(store(I8, -300.0), -128);
    assert_eq!(store(I8, 300.0), 127);
    assert_eq!(store(U8, -1.0), 0);
    assert_eq!(store(U8, 256.0), 255);
    assert_eq!(store(I32, f64::NAN), 0);
    assert_eq!(store(I64, 1e300), i64::MAX);
    let mut wide = HostTensor::contiguous(I64, &[2]).unwrap();
    wide.set_i64(&[1], i64::MIN + 1).unwrap();
    assert_eq!(wide.to_i64().unwrap(), [-1, i64::MIN + 1]);
    let unsigned = HostTensor::contiguous(U64, &[1]).unwrap();
    assert_eq!(unsigned.get_i64(&[0]).unwrap(), i64::MAX);
    assert_eq!(unsigned.get_f64(&[0]).unwrap(), u64::MAX as f64);
}

#[test]
fn names_and_sizes() {
    for (dtype, name) in dtype::all() {
        assert_eq!(dtype::from_name(name), Some(dtype));
        assert_eq!(dtype::name(dtype), Some(name));
        assert_eq!(Shown(dtype).to_string(), name);
    }
    assert_eq!(dtype::all().count(), 26);
    assert_eq!(dtype::bytes_for(F32, 3), Some(12));
    assert_eq!(dtype::bytes_for(Q8_0, 64), Some(68));
    assert_eq!(dtype::bytes_for(Q8_0, 33), None);
    assert_eq!(dtype::bytes_for(Q4_K, 512), Some(288));
    assert_eq!(dtype::bytes_for(F64, u64::MAX / 4), None);
    assert_eq!(dtype::element_bytes(Q8_0), None);
    assert_eq!(dtype::from_name("Q8_0"), None);
    let unknown = overt_abi::OvertDType {
        code: 77,
        bits: 8,
        lanes: 1,
    };
    assert_eq!(dtype::bytes_for(unknown, 1), None);
    assert_eq!(
        Shown(unknown).to_string(),
        "dtype(code 77, bits 8, lanes 1)"
    );
}

#[test]
fn tensors_keep_to_their_memory() {
    let mut t = HostTensor::padded(F32, &[2, 3, 4], 1, 10).unwrap();
    // A row of 4 and 1 of padding; three of them and 1 and 10 of padding.
    assert_eq!(t.strides, [26, 5, 1]);
    assert_eq!(t.reach(), 26 + 10 + 4);
    assert_eq!(t.bytes.len(), 4 * 40);
    assert!(!t.is_contiguous());
    let mut next = 0.0;
    t.fill_with(|| {
        next += 1.0;
        next
    })
    .unwrap();
    assert_eq!(t.get_f64(&[1, 2, 3]).unwrap(), 24.0);
    assert_eq!(
        t.to_f64().unwrap(),
        (1..=24).map(f64::from).collect::<Vec<_>>()
    );
    // Gaps keep what fresh memory holds.
    assert_eq!(
        t.bytes.chunks(4).filter(|c| *c == [0xff; 4]).count(),
        40 - 24
    );
    assert_eq!(t.index_of(23).unwrap(), [1, 2, 3]);
    for index in [&[2, 0, 0][..], &[0, -1, 0], &[0, 0], &[0, 0, 4]] {
        assert!(
            matches!(t.get_f64(index), Err(HostError::Index { .. })),
            "{index:?}"
        );
    }
    let scalar = HostTensor::contiguous(F64, &[]).unwrap();
    assert_eq!(
        (
            scalar.len(),
            scalar.bytes.len(),
            scalar.to_f64().unwrap().len()
        ),
        (1, 8, 1)
    );
    let empty = HostTensor::contiguous(F64, &[3, 0]).unwrap();
    assert_eq!(
        (
            empty.len(),
            empty.bytes.len(),
            empty.to_f64().unwrap().len()
        ),
        (0, 0, 0)
    );
    assert!(
        HostTensor::with_strides(F32, &[1, 4], &[999, 1])
            .unwrap()
            .is_contiguous()
    );
}

#[test]
fn sizes_that_no_memory_has_are_refused_before_anything_is_allocated() {
    for (shape, strides) in [
        (vec![i64::MAX, 2], vec![1, 1]),
        (vec![1 << 32, 1 << 32], vec![1 << 32, 1]),
        (vec![2, 2], vec![i64::MAX, 1]),
        (vec![1 << 61], vec![1]),
        (vec![1 << 62], vec![1]),
        (vec![-1], vec![1]),
        (vec![2], vec![-1]),
        (vec![2], vec![1, 1]),
        (vec![0, i64::MAX, 2], vec![1, 1, 1]),
    ] {
        let error = HostTensor::with_strides(F32, &shape, &strides).unwrap_err();
        assert!(
            matches!(error, HostError::Layout { .. }),
            "{shape:?} {strides:?}: {error}"
        );
    }
    assert!(HostTensor::padded(F32, &[2, i64::MAX, 2], 1, 0).is_err());
    assert!(HostTensor::contiguous(Q8_0, &[2, 33]).is_err());
    assert!(HostTensor::with_strides(Q8_0, &[2, 64], &[80, 1]).is_err());
    assert!(HostTensor::contiguous(Q8_0, &[]).is_err());
    let mut blocks = HostTensor::contiguous(Q8_0, &[2, 64]).unwrap();
    assert_eq!(blocks.bytes.len(), 4 * 34);
    assert!(blocks.to_f64().unwrap().iter().all(|v| v.is_nan()));
    let alone = blocks.set_f64(&[0, 0], 1.0);
    assert!(matches!(alone, Err(HostError::Element { .. })), "{alone:?}");
    assert_eq!(
        HostTensor::padded(Q8_0, &[2, 3, 64], 1, 40)
            .unwrap()
            .strides,
        [3 * 96 + 64, 96, 1]
    );
}

//! 8-bit floats: every pattern against the definition of its format, and rounding between all neighbours.

use overt_abi::OvertDType;
use overt_kernels::dtype::{FP8_E4M3FN, FP8_E4M3FNUZ, FP8_E5M2, FP8_E5M2FNUZ, Shown};
use overt_kernels::host::Element;

fn decode(dtype: OvertDType, bits: u8) -> f64 {
    Element::of(dtype).unwrap().read_f64(&[bits])
}

fn encode(dtype: OvertDType, value: f64) -> u8 {
    let mut bytes = [0];
    Element::of(dtype).unwrap().write_f64(&mut bytes, value);
    bytes[0]
}

/// Format, the pattern of its largest number, that number, its least number.
const FORMATS: [(OvertDType, u8, f64, f64); 4] = [
    (FP8_E4M3FN, 0x7e, 448.0, 1.0 / 512.0),
    (FP8_E4M3FNUZ, 0x7f, 240.0, 1.0 / 1024.0),
    (FP8_E5M2, 0x7b, 57344.0, 1.0 / 65536.0),
    (FP8_E5M2FNUZ, 0x7f, 57344.0, 1.0 / 131_072.0),
];

#[test]
fn finite_patterns_ascend_from_zero_to_the_largest_number_and_encode_again() {
    for (dtype, last, largest, least) in FORMATS {
        assert_eq!(decode(dtype, last), largest, "{}", Shown(dtype));
        assert_eq!(decode(dtype, 1), least, "{}", Shown(dtype));
        assert_eq!(decode(dtype, 0).to_bits(), 0);
        for bits in 0..last {
            assert!(decode(dtype, bits) < decode(dtype, bits + 1));
        }
        for bits in 0..=u8::MAX {
            let value = decode(dtype, bits);
            if value.is_nan() {
                assert!(decode(dtype, encode(dtype, value)).is_nan());
            } else {
                assert_eq!(encode(dtype, value), bits, "{} {value}", Shown(dtype));
            }
        }
    }
}

#[test]
fn what_is_beyond_the_finite_numbers() {
    let nans = |dtype| -> Vec<u8> {
        (0..=u8::MAX)
            .filter(|b| decode(dtype, *b).is_nan())
            .collect()
    };
    assert_eq!(nans(FP8_E4M3FN), [0x7f, 0xff]);
    assert_eq!(nans(FP8_E4M3FNUZ), [0x80]);
    assert_eq!(nans(FP8_E5M2), [0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff]);
    assert_eq!(nans(FP8_E5M2FNUZ), [0x80]);
    assert_eq!(decode(FP8_E5M2, 0x7c), f64::INFINITY);
    assert_eq!(decode(FP8_E5M2, 0xfc), f64::NEG_INFINITY);
    assert_eq!(encode(FP8_E5M2, f64::NEG_INFINITY), 0xfc);
    assert_eq!(encode(FP8_E4M3FN, f64::INFINITY), 0x7f);
    assert_eq!(encode(FP8_E4M3FN, f64::NEG_INFINITY), 0xff);
    assert_eq!(encode(FP8_E4M3FNUZ, f64::INFINITY), 0x80);
    assert_eq!(encode(FP8_E5M2FNUZ, f64::NEG_INFINITY), 0x80);
    for (dtype, last, largest, least) in FORMATS {
        for value in [largest, largest * 1.01, largest * 2.0, f64::MAX] {
            assert_eq!(encode(dtype, value), last, "{} of {value}", Shown(dtype));
            assert_eq!(encode(dtype, -value), last | 0x80);
        }
        let unsigned_zero = dtype == FP8_E4M3FNUZ || dtype == FP8_E5M2FNUZ;
        let negative_zero = if unsigned_zero { 0 } else { 0x80 };
        assert_eq!(encode(dtype, -0.0), negative_zero, "{}", Shown(dtype));
        assert_eq!(encode(dtype, -least / 2.0), negative_zero, "a tie with 0");
        assert_eq!(encode(dtype, (least / 2.0).next_up()), 1);
        assert_eq!(encode(dtype, f64::from_bits(1)), 0);
    }
}

#[test]
fn rounding_is_to_nearest_and_ties_to_even_between_all_neighbours() {
    for (dtype, last, _, _) in FORMATS {
        for low in 0..last {
            let tie = (decode(dtype, low) + decode(dtype, low + 1)) / 2.0;
            let even = low + low % 2;
            assert_eq!(encode(dtype, tie), even, "{} {low:#04x}", Shown(dtype));
            assert_eq!(encode(dtype, tie.next_down()), low);
            assert_eq!(encode(dtype, tie.next_up()), low + 1);
            if even > 0 {
                assert_eq!(encode(dtype, -tie), even | 0x80);
            }
        }
    }
}

//! Decoding of every format against the one of the tests' own.

use super::formats::{Format, decode_row};
use super::tests_support::{random_row, value};
use crate::simd::lanes::Simd;
use crate::simd::tests_support::{ForEach, Random, for_each};

fn decoded<S: Simd>(s: S, format: Format, row: &[u8], n: usize) -> Vec<f32> {
    // At an odd place, so that an aligned load of a format without alignment would fault.
    let shift = usize::from(format.block().1 % 2 == 1 || format.is_blocks());
    let mut memory = vec![0_u32; row.len() / 4 + 2];
    // SAFETY: the words hold the row, shifted by at most one byte.
    let bytes = unsafe {
        core::slice::from_raw_parts_mut(memory.as_mut_ptr().cast::<u8>(), row.len() + shift)
    };
    bytes[shift..].copy_from_slice(row);
    let padded = n.next_multiple_of(S::LANES) + S::LANES;
    let mut out = vec![f32::NAN; padded];
    // SAFETY: the row holds n elements, `out` the padding.
    unsafe {
        decode_row(
            s,
            format,
            bytes.as_ptr().add(shift),
            out.as_mut_ptr(),
            n,
            padded,
        )
    };
    assert!(
        out[n..].iter().all(|&x| x == 0.0),
        "{format:?}: padding of {n}"
    );
    out.truncate(n);
    out
}

fn same(format: Format, i: usize, got: f32, want: f64, name: &str) {
    let right = if want.is_nan() {
        got.is_nan()
    } else {
        // Exact where f32 can be; otherwise the nearest, but for a product that was rounded before it.
        f64::from(got) == want
            || (f64::from(got) - want).abs() <= want.abs() * 2_f64.powi(-23) + 1e-9
    };
    assert!(
        right,
        "{name}: {format:?} element {i}: {got}; wanted {want}"
    );
}

struct Rows;

impl ForEach for Rows {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for format in Format::ALL {
            let lengths: &[usize] = match format.block().0 {
                1 => &[0, 1, 3, 7, 8, 15, 16, 17, 31, 50, 256],
                32 => &[0, 32, 64, 96, 320],
                _ => &[0, 256, 512],
            };
            for &n in lengths {
                let mut random = Random(n as u64 + 1);
                let row = random_row(format, n, &mut random);
                for (i, got) in decoded(s, format, &row, n).into_iter().enumerate() {
                    same(format, i, got, value(format, &row, i), name);
                }
            }
        }
    }
}

#[test]
fn rows_of_every_format_decode() {
    for_each(&mut Rows);
}

struct Codes;

impl ForEach for Codes {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        let all: Vec<u8> = (0..=255).collect();
        for format in [Format::E4m3fn, Format::E5m2] {
            for (i, got) in decoded(s, format, &all, 256).into_iter().enumerate() {
                let want = value(format, &all, i);
                assert!(
                    f64::from(got) == want || (got.is_nan() && want.is_nan()),
                    "{name}: {format:?} code {i:#x}: {got}; wanted {want}"
                );
            }
        }
        // Every scale of mxfp4, the subnormal ones too, exactly.
        for e in 0..=255_u8 {
            let mut row = vec![e];
            row.extend((0..16).map(|i| i | (15 - i) << 4));
            for (i, got) in decoded(s, Format::Mxfp4, &row, 32).into_iter().enumerate() {
                let want = value(Format::Mxfp4, &row, i);
                let want = if want.abs() > f64::from(f32::MAX) {
                    f64::INFINITY.copysign(want)
                } else {
                    want
                };
                assert!(
                    f64::from(got) == want,
                    "{name}: mxfp4 scale {e} element {i}: {got}; wanted {want}"
                );
            }
        }
    }
}

#[test]
fn every_code_decodes_exactly() {
    for_each(&mut Codes);
}

struct Exact;

impl ForEach for Exact {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        // Without an offset, the value is a product of few bits and has no rounding.
        for format in [Format::Q8_0, Format::Q4_0, Format::Q5_0] {
            let row = random_row(format, 3200, &mut Random(9));
            for (i, got) in decoded(s, format, &row, 3200).into_iter().enumerate() {
                assert!(
                    f64::from(got) == value(format, &row, i),
                    "{name}: {format:?} element {i}"
                );
            }
        }
    }
}

#[test]
fn formats_without_an_offset_decode_exactly() {
    for_each(&mut Exact);
}

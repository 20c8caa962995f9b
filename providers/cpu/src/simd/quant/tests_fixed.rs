//! What fixed point must not lose: blocks that it cannot hold, and the bits of small elements beside great ones.

use super::formats::Format;
use super::panel::{pack_panel, packed_bytes};
use super::product::{
    Activations, QuantArgs, prepare_on, prepared_bytes_on, rows_on, scratch_len_on,
};
use super::tests_support::{random_row, value};
use crate::simd::ElemType;
use crate::simd::lanes::Simd;
use crate::simd::tests_support::{ForEach, Random, for_each};

const N: usize = 19;
const K: usize = 512;
const FORMATS: [Format; 5] = [
    Format::Q8_0,
    Format::Q4_0,
    Format::Q4_1,
    Format::Q4K,
    Format::Q6K,
];

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 64]);

/// The product of one row with random weights, and the weights.
fn product<S: Simd>(
    s: S,
    format: Format,
    activations: Activations,
    a: &[f32],
    packed: bool,
) -> (Vec<f32>, Vec<Vec<f64>>) {
    let mut random = Random(format as u64 + 5);
    let rows: Vec<Vec<u8>> = (0..N).map(|_| random_row(format, K, &mut random)).collect();
    let weights = rows
        .iter()
        .map(|row| (0..K).map(|k| value(format, row, k)).collect())
        .collect();
    let plain = rows.concat();
    let mut panels = vec![0_u8; packed_bytes(format, S::LANES, N, K)];
    let bytes = S::LANES * format.bytes_for(K);
    for (panel, to) in panels.chunks_exact_mut(bytes).enumerate() {
        let row = |lane| {
            rows.get(panel * S::LANES + lane)
                .map_or(core::ptr::null(), |row: &Vec<u8>| row.as_ptr())
        };
        // SAFETY: rows hold K elements, a panel its bytes.
        unsafe { pack_panel(format, S::LANES, row, K, to.as_mut_ptr()) };
    }
    let mut out = vec![7.0_f32; N];
    let args = QuantArgs {
        a: a.as_ptr().cast(),
        a_type: ElemType::F32,
        a_stride: K as i64,
        b: if packed {
            panels.as_ptr()
        } else {
            plain.as_ptr()
        },
        b_format: format,
        b_stride: K as i64,
        packed,
        b_scale: core::ptr::null(),
        b_scale_strides: [0, 0],
        scale_rows: 1,
        scale_depth: 128,
        bias: core::ptr::null(),
        bias_type: ElemType::F32,
        bias_stride: 0,
        out: out.as_mut_ptr().cast(),
        out_type: ElemType::F32,
        out_stride: N as i64,
        m: 1,
        n: N,
        k: K,
        activations,
    };
    let mut prepared = vec![Line([0xaa; 64]); prepared_bytes_on(s, &args).div_ceil(64)];
    let prepared = prepared.as_mut_ptr().cast::<u8>();
    let mut scratch = vec![f32::NAN; scratch_len_on(s, &args)];
    // SAFETY: the operands are the test's own and as large as the arguments say.
    unsafe {
        prepare_on(s, &args, prepared, 0..1);
        rows_on(s, &args, prepared, 0..1, 0..N, &mut scratch);
    }
    (out, weights)
}

/// A row of elements in (−1, 1).
fn ordinary() -> Vec<f32> {
    let mut random = Random(3);
    (0..K).map(|_| random.unit()).collect()
}

/// Holds a product against sums in f64, within `share` of the sum of the terms' magnitudes.
fn check<S: Simd>(s: S, name: &str, a: &[f32], share: f64) {
    for format in FORMATS {
        let (packed, weights) = product(s, format, Activations::Fixed, a, true);
        let (plain, _) = product(s, format, Activations::Fixed, a, false);
        assert!(
            packed
                .iter()
                .zip(&plain)
                .all(|(a, b)| a.to_bits() == b.to_bits()),
            "{name}: {format:?}: packed and plain weights give other bits"
        );
        for (column, got) in packed.iter().enumerate() {
            let terms = || {
                a.iter()
                    .zip(&weights[column])
                    .map(|(&x, w)| f64::from(x) * w)
            };
            let want: f64 = terms().sum();
            // An offset is added apart from its scale, so its part may be greater than the sum.
            let size = terms().map(f64::abs).sum::<f64>()
                + 0.05 * a.iter().map(|x| f64::from(x.abs())).sum::<f64>();
            let limit = share * size + f64::from(f32::MIN_POSITIVE);
            assert!(
                (f64::from(*got) - want).abs() <= limit,
                "{name}: {format:?}, column {column}: {got}; wanted {want} within {limit:e}"
            );
        }
    }
}

struct Sizes;

impl ForEach for Sizes {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        // From magnitudes whose scale is no normal number up to such that a sum of integers times it is none.
        for power in [
            -126, -121, -101, -100, -99, -60, -14, 0, 14, 60, 99, 100, 101, 110,
        ] {
            let size = 2_f32.powi(power);
            let a: Vec<f32> = ordinary().iter().map(|x| x * size).collect();
            check(s, name, &a, 2_f64.powi(-16));
        }
        // Ordinary and odd blocks in one row, in places that differ.
        let mut a = ordinary();
        for (i, x) in a.iter_mut().enumerate() {
            *x *= 2_f32.powi([0, 105, 3, -110, 20][i / 32 % 5]);
        }
        check(s, name, &a, 2_f64.powi(-16));
    }
}

#[test]
fn magnitudes_of_every_size_are_held() {
    for_each(&mut Sizes);
}

struct Outlier;

impl ForEach for Outlier {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for format in FORMATS {
            let mut a = ordinary();
            let whole = if format == Format::Q8_0 { -19 } else { -22 };
            for block in a.chunks_mut(32) {
                block[7] = 4096.0;
            }
            let (got, weights) = product(s, format, Activations::Fixed, &a, true);
            for column in 0..N {
                let pairs = || a.iter().zip(&weights[column]);
                let want: f64 = pairs().map(|(&x, w)| f64::from(x) * w).sum();
                // The greatest element's share of its neighbours, and the roundings of f32.
                let off = 2_f64.powi(whole)
                    * 4096.0
                    * weights[column].iter().map(|w| w.abs()).sum::<f64>();
                let size: f64 =
                    pairs().map(|(&x, w)| (f64::from(x) * w).abs()).sum::<f64>() + 4096.0;
                let limit = off + 2_f64.powi(-20) * size;
                assert!(
                    (f64::from(got[column]) - want).abs() <= limit,
                    "{name}: {format:?}, column {column}: {}; wanted {want} within {limit:e}",
                    got[column]
                );
            }
        }
    }
}

#[test]
fn one_great_element_costs_its_neighbours_no_more_than_is_said() {
    for_each(&mut Outlier);
}

struct Strange;

impl ForEach for Strange {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        let infinities: [&[(usize, f32)]; 5] = [
            &[(40, f32::INFINITY)],
            &[(40, f32::NEG_INFINITY), (500, f32::NEG_INFINITY)],
            &[(0, f32::INFINITY), (1, f32::NEG_INFINITY)],
            &[(511, f32::NAN)],
            &[(33, f32::MAX), (34, f32::MAX), (35, f32::MAX)],
        ];
        for format in FORMATS {
            for places in infinities {
                let mut a = ordinary();
                for &(at, x) in places {
                    a[at] = x;
                }
                let (fixed, _) = product(s, format, Activations::Fixed, &a, true);
                let (exact, _) = product(s, format, Activations::Exact, &a, true);
                for (column, (fixed, exact)) in fixed.iter().zip(&exact).enumerate() {
                    let same = if exact.is_nan() {
                        fixed.is_nan()
                    } else if exact.is_infinite() {
                        fixed == exact
                    } else {
                        (fixed - exact).abs() <= exact.abs() * 1e-5
                    };
                    assert!(
                        same,
                        "{name}: {format:?}, {places:?}, column {column}: {fixed}; f32 gives {exact}"
                    );
                }
            }
        }
    }
}

#[test]
fn nan_infinity_and_overflow_are_what_they_are_in_f32() {
    for_each(&mut Strange);
}

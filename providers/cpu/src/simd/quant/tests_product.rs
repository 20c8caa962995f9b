//! Products with quantised weights against sums in f64, at every format, path and tail, and bit by bit against themselves.

use super::Set;
use super::formats::{Format, Stored};
use super::panel::{Panels, pack_panel, packed_bytes, with_panels};
use super::product::{
    Activations, QuantArgs, grain, prepare_on, prepared_bytes_on, rows_on, scratch_len_on,
};
use super::tests_support::{random_row, value};
use crate::simd::ElemType;
use crate::simd::lanes::Simd;
use crate::simd::tests_support::{ForEach, Memory, Random, for_each, rounding};
use core::ops::Range;

const QUANTISED: [Format; 9] = [
    Format::Q8_0,
    Format::Q4_0,
    Format::Q4_1,
    Format::Q5_0,
    Format::Q5_1,
    Format::Q4K,
    Format::Q5K,
    Format::Q6K,
    Format::Mxfp4,
];
const FP8: [Format; 2] = [Format::E4m3fn, Format::E5m2];

/// Memory that begins on a line, as the provider's does.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 64]);

/// Whole lines of at least `bytes`.
fn lines(bytes: usize) -> Vec<Line> {
    vec![Line([0xaa; 64]); bytes.div_ceil(64)]
}

struct Scale {
    values: Vec<f32>,
    across: usize,
    rows: usize,
    depth: usize,
}

struct Case {
    a: Memory,
    format: Format,
    /// Rows of b, `b_stride` bytes apart, shifted to an odd address.
    b: Vec<u8>,
    b_stride: usize,
    scale: Option<Scale>,
    bias: Option<Memory>,
    out_type: ElemType,
    activations: Activations,
    m: usize,
    n: usize,
    k: usize,
    pad: usize,
}

#[derive(Clone, Copy)]
struct Kind {
    a: ElemType,
    format: Format,
    out: ElemType,
    bias: Option<ElemType>,
    activations: Activations,
}

const PLAIN: Kind = Kind {
    a: ElemType::F32,
    format: Format::Q8_0,
    out: ElemType::F32,
    bias: None,
    activations: Activations::Exact,
};

impl Case {
    fn new(kind: Kind, [m, n, k]: [usize; 3], pad: usize) -> Self {
        let mut random = Random((m * 31 + n * 17 + k) as u64);
        let a = Memory::filled(kind.a, m * (k + pad), |i| {
            if i % (k + pad) < k {
                random.unit()
            } else {
                f32::NAN
            }
        });
        let block = kind.format.block();
        let b_stride = row_bytes_plain(kind.format, k) + if pad > 0 { block.1 } else { 0 };
        let mut b = vec![0xff; 1 + n * b_stride];
        for row in 0..n {
            let bytes = random_row(kind.format, k, &mut random);
            b[1 + row * b_stride..][..bytes.len()].copy_from_slice(&bytes);
        }
        let bias = kind.bias.map(|ty| {
            Memory::filled(
                ty,
                n * 2,
                |i| {
                    if i % 2 == 0 { random.unit() } else { f32::NAN }
                },
            )
        });
        Case {
            a,
            format: kind.format,
            b,
            b_stride,
            scale: None,
            bias,
            out_type: kind.out,
            activations: kind.activations,
            m,
            n,
            k,
            pad,
        }
    }

    fn scaled(mut self, rows: usize, depth: usize) -> Self {
        let mut random = Random(depth as u64);
        let across = self.k.div_ceil(depth) + 1;
        let values = (0..self.n.div_ceil(rows) * across)
            .map(|_| random.unit() + 1.5)
            .collect();
        self.scale = Some(Scale {
            values,
            across,
            rows,
            depth,
        });
        self
    }

    fn args(&self) -> QuantArgs {
        QuantArgs {
            a: self.a.as_ptr(),
            a_type: self.a.ty,
            a_stride: (self.k + self.pad) as i64,
            b: self.b[1..].as_ptr(),
            b_format: self.format,
            b_stride: (self.b_stride / self.format.block().1 * self.format.block().0) as i64,
            packed: false,
            b_scale: self
                .scale
                .as_ref()
                .map_or(core::ptr::null(), |s| s.values.as_ptr()),
            b_scale_strides: [self.scale.as_ref().map_or(0, |s| s.across as i64), 1],
            scale_rows: self.scale.as_ref().map_or(1, |s| s.rows),
            scale_depth: self.scale.as_ref().map_or(128, |s| s.depth),
            bias: self.bias.as_ref().map_or(core::ptr::null(), Memory::as_ptr),
            bias_type: self.bias.as_ref().map_or(ElemType::F32, |b| b.ty),
            bias_stride: 2,
            out: core::ptr::null_mut(),
            out_type: self.out_type,
            out_stride: (self.n + self.pad) as i64,
            m: self.m,
            n: self.n,
            k: self.k,
            activations: self.activations,
        }
    }

    /// The weight in panels.
    fn pack<S: Simd>(&self, s: S) -> Vec<u8> {
        let _ = s;
        let mut packed = vec![0xee; packed_bytes(self.format, S::LANES, self.n, self.k)];
        let bytes = S::LANES * self.format.bytes_for(self.k);
        for (panel, to) in packed.chunks_exact_mut(bytes.max(1)).enumerate() {
            let row = |lane: usize| {
                let row = panel * S::LANES + lane;
                match row < self.n {
                    true => self.b[1 + row * self.b_stride..].as_ptr(),
                    false => core::ptr::null(),
                }
            };
            // SAFETY: rows hold k elements, a panel its bytes.
            unsafe { pack_panel(self.format, S::LANES, row, self.k, to.as_mut_ptr()) };
        }
        packed
    }

    /// The output, `n + pad` elements a row, 7 where nothing was written.
    fn run<S: Simd>(&self, s: S, packed: bool, cuts: &[(Range<usize>, Range<usize>)]) -> Memory {
        let mut out = Memory::filled(self.out_type, self.m * (self.n + self.pad), |_| 7.0);
        let mut args = self.args();
        args.out = out.as_mut_ptr();
        let panels;
        if packed {
            panels = self.pack(s);
            args.b = panels.as_ptr();
            args.packed = true;
        }
        let mut prepared = lines(prepared_bytes_on(s, &args));
        let prepared = prepared.as_mut_ptr().cast::<u8>();
        let mut scratch = vec![f32::NAN; scratch_len_on(s, &args)];
        // SAFETY: the operands are the test's own and as large as the arguments say.
        unsafe {
            prepare_on(s, &args, prepared, 0..self.m);
            for (m, n) in cuts {
                rows_on(s, &args, prepared, m.clone(), n.clone(), &mut scratch);
            }
        }
        out
    }

    fn whole<S: Simd>(&self, s: S, packed: bool) -> Memory {
        self.run(s, packed, &[(0..self.m, 0..self.n)])
    }

    /// What the activations stand for.
    fn activations(&self, row: usize) -> Vec<f64> {
        let x: Vec<f64> = (0..self.k)
            .map(|i| self.a.get(row * (self.k + self.pad) + i))
            .collect();
        if self.activations != Activations::Int8 {
            return x;
        }
        x.chunks(32)
            .flat_map(|block| {
                let amax = block.iter().fold(0.0_f32, |m, &x| m.max((x as f32).abs()));
                let id = if amax == 0.0 { 0.0 } else { 127.0 / amax };
                let d = amax / 127.0;
                block
                    .iter()
                    .map(move |&x| f64::from((x as f32 * id).round_ties_even()) * f64::from(d))
            })
            .collect()
    }

    fn check(&self, out: &Memory, name: &str) {
        let weights: Vec<Vec<f64>> = (0..self.n)
            .map(|row| {
                let bytes = &self.b[1 + row * self.b_stride..];
                (0..self.k)
                    .map(|k| {
                        let scale = self.scale.as_ref().map_or(1.0, |s| {
                            f64::from(s.values[row / s.rows * s.across + k / s.depth])
                        });
                        value(self.format, bytes, k) * scale
                    })
                    .collect()
            })
            .collect();
        for row in 0..self.m {
            let x = self.activations(row);
            for column in 0..self.n + self.pad {
                let got = out.get(row * (self.n + self.pad) + column);
                if column >= self.n {
                    assert_eq!(got, 7.0, "{name}: written behind row {row}");
                    continue;
                }
                let (mut want, mut size, mut off) = (0.0, 0.0, 0.0);
                for (x, w) in x.iter().zip(&weights[column]) {
                    want += x * w;
                    size += (x * w).abs();
                }
                // An offset is added apart from its scale, so its part may be greater than the sum.
                size += x.iter().map(|x| x.abs()).sum::<f64>() * 0.05;
                if let Some(bias) = &self.bias {
                    want += bias.get(column * 2);
                    size += bias.get(column * 2).abs();
                }
                // Fixed point is off by at most 2⁻²² of the greatest of 32, by 2⁻¹⁹ in digits of seven bits.
                if self.activations == Activations::Fixed {
                    let short = self.format == Format::Q8_0;
                    let error = 2_f64.powi(if short { -19 } else { -22 });
                    for (x, w) in x.chunks(32).zip(weights[column].chunks(32)) {
                        let greatest = x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
                        off += error * greatest * w.iter().map(|w| w.abs()).sum::<f64>();
                    }
                }
                // Of exact activations 256 products are added one after another, and then the sums of such.
                let steps = self.k.min(256) + self.k / 32 + 8;
                let limit = size * steps as f64 * rounding(ElemType::F32)
                    + off
                    + want.abs() * rounding(self.out_type) * 1.001
                    + 1e-7;
                assert!(
                    (got - want).abs() <= limit,
                    "{name}: {:?} {:?} [{}, {}, {}] at {row}, {column}: {got}; wanted {want} within {limit:e}",
                    self.format,
                    self.activations,
                    self.m,
                    self.n,
                    self.k
                );
            }
        }
    }

    fn check_on<S: Simd>(&self, s: S, name: &str) {
        let packed = self.whole(s, true);
        self.check(&packed, name);
        let plain = self.whole(s, false);
        assert!(
            packed == plain,
            "{name}: {:?} {:?} [{}, {}, {}]: packed and plain weights give other bits",
            self.format,
            self.activations,
            self.m,
            self.n,
            self.k
        );
    }
}

fn row_bytes_plain(format: Format, k: usize) -> usize {
    let (elements, bytes) = format.block();
    k / elements * bytes
}

struct Shapes;

impl ForEach for Shapes {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for format in QUANTISED {
            let deep = format.block().0;
            for activations in [Activations::Exact, Activations::Fixed, Activations::Int8] {
                let kind = Kind {
                    format,
                    activations,
                    ..PLAIN
                };
                for m in [1, 2, 3, 4, 5, 6, 7, 17] {
                    for (n, blocks) in [(1, 1), (7, 2), (8, 3), (37, 1)] {
                        Case::new(kind, [m, n, deep * blocks], 3).check_on(s, name);
                    }
                }
                for k in [512, 768, 4096] {
                    Case::new(kind, [1, 19, k], 0).check_on(s, name);
                    Case::new(kind, [9, 5, k], 0).check_on(s, name);
                }
                Case::new(kind, [64, 33, 256], 0).check_on(s, name);
                if matches!(format, Format::Q8_0 | Format::Q4_1 | Format::Q6K) {
                    // More rows, columns and depth than one block of the output and one chunk have.
                    Case::new(kind, [259, 150, 768], 0).check_on(s, name);
                }
            }
        }
    }
}

#[test]
fn every_shape_of_every_format_is_right() {
    for_each(&mut Shapes);
}

struct Fp8;

impl ForEach for Fp8 {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for format in FP8 {
            let kind = Kind { format, ..PLAIN };
            for m in [1, 2, 3, 7, 17] {
                for n in [1, 8, 37] {
                    for k in [1, 3, 4, 31, 64, 130, 300, 600] {
                        Case::new(kind, [m, n, k], 3).check_on(s, name);
                        // By channel, by blocks, and by stretches that begin inside a word.
                        Case::new(kind, [m, n, k], 3).scaled(1, k).check_on(s, name);
                        Case::new(kind, [m, n, k], 0)
                            .scaled(128, 128)
                            .check_on(s, name);
                        Case::new(kind, [m, n, k], 0).scaled(3, 7).check_on(s, name);
                    }
                }
            }
        }
    }
}

#[test]
fn every_shape_of_fp8_is_right() {
    for_each(&mut Fp8);
}

struct Mixes;

impl ForEach for Mixes {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        let types = [ElemType::F32, ElemType::F16, ElemType::Bf16];
        for a in types {
            for out in types {
                for activations in [Activations::Exact, Activations::Fixed, Activations::Int8] {
                    for format in [Format::Q8_0, Format::Q4_1, Format::Q6K] {
                        for m in [1, 3, 9] {
                            let kind = Kind {
                                a,
                                format,
                                out,
                                bias: Some(out),
                                activations,
                            };
                            Case::new(kind, [m, 21, 256], 2).check_on(s, name);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn every_mix_of_types_is_right() {
    for_each(&mut Mixes);
}

struct Batches;

impl ForEach for Batches {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for format in QUANTISED.into_iter().chain(FP8) {
            for activations in [Activations::Exact, Activations::Fixed, Activations::Int8] {
                if !format.is_blocks() && activations != Activations::Exact {
                    continue;
                }
                let kind = Kind {
                    format,
                    activations,
                    ..PLAIN
                };
                let case = Case::new(kind, [11, 70, 768], 0);
                let whole = case.whole(s, true);
                for (m_step, n_step) in [(1, 70), (2, 16), (3, 32), (4, 48), (5, 16), (6, 64)] {
                    let cuts: Vec<_> = (0..11)
                        .step_by(m_step)
                        .flat_map(|m| {
                            (0..70)
                                .step_by(n_step)
                                .map(move |n| (m..11.min(m + m_step), n..70.min(n + n_step)))
                        })
                        .collect();
                    assert!(
                        case.run(s, true, &cuts) == whole,
                        "{name}: {format:?} {activations:?}: {m_step} rows by {n_step} columns at a time give other bits"
                    );
                }
                // A row alone, and the same row among others, in calls of their own.
                for m in [1, 2, 4] {
                    let mut alone = Case::new(kind, [11, 70, 768], 0);
                    alone.m = m;
                    let some = alone.whole(s, true);
                    for i in 0..m * 70 {
                        assert!(
                            some.get(i).to_bits() == whole.get(i).to_bits(),
                            "{name}: {format:?} {activations:?}: {m} rows of eleven give other bits"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn rows_are_bit_equal_however_the_batch_is_composed() {
    for_each(&mut Batches);
}

struct Edges;

impl ForEach for Edges {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for activations in [Activations::Exact, Activations::Fixed, Activations::Int8] {
            for m in [1, 2, 12] {
                let kind = Kind {
                    activations,
                    bias: Some(ElemType::F32),
                    ..PLAIN
                };
                // Without depth the output is the bias.
                Case::new(kind, [m, 5, 0], 1).check_on(s, name);
                // Empty ranges touch nothing.
                let case = Case::new(kind, [m, 5, 64], 1);
                let out = case.run(s, true, &[(0..0, 0..5), (0..1, 0..0)]);
                assert!((0..m * 6).all(|i| out.get(i) == 7.0), "{name}");
                // A NaN or infinity in one row stays in that row; zeros and the least numbers are no trouble.
                for strange in [f32::NAN, f32::INFINITY, 0.0, 1e-41] {
                    let mut case = Case::new(kind, [m, 5, 64], 0);
                    for i in 0..64 {
                        case.a.set(
                            i,
                            if i == 40 || strange.is_finite() {
                                strange
                            } else {
                                1.0
                            },
                        );
                    }
                    let out = case.whole(s, true);
                    for i in 0..m * 5 {
                        let wild = !strange.is_finite() && i < 5;
                        assert_eq!(out.get(i).is_finite(), !wild, "{name}: {strange} at {i}");
                    }
                }
                // The greatest bytes of both, in every place: sixteen bits must hold what is added in them.
                for format in QUANTISED {
                    let kind = Kind {
                        format,
                        activations,
                        ..PLAIN
                    };
                    let k = 256;
                    for byte in [0x00, 0x80, 0xff] {
                        for sign in [1.0, -1.0] {
                            let mut case = Case::new(kind, [m, 9, k], 0);
                            for i in 0..m * k {
                                case.a.set(i, sign);
                            }
                            let (_, bytes) = format.block();
                            with_panels!(format, F => for block in case.b[1..].chunks_exact_mut(bytes) {
                                for &(at, count) in <F as Panels>::QUANTS {
                                    block[at..at + 4 * count].fill(byte);
                                }
                                for &at in <F as Panels>::BITS {
                                    block[at..at + 4].fill(byte);
                                }
                                assert_eq!(block.len(), <F as Stored>::BYTES);
                            });
                            case.check_on(s, name);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn edges_are_right() {
    for_each(&mut Edges);
}

#[test]
fn the_grain_is_whole_panels() {
    for set in [Set::Avx2, Set::Avx512, Set::Vnni] {
        for m in [0, 1, 9, 4096] {
            for n in [0, 1, 40, 50000] {
                for threads in [0, 1, 2, 64] {
                    let mut args = Case::new(PLAIN, [1, 1, 32], 0).args();
                    (args.m, args.n) = (m, n);
                    let (rows, columns) = grain(set, &args, threads);
                    assert!(
                        rows >= 1 && columns >= 1 && columns.is_multiple_of(set.lanes()),
                        "{set:?}: {m} by {n}: {rows}, {columns}"
                    );
                }
            }
        }
    }
}

#[test]
fn packing_takes_no_more_bytes_than_the_rows() {
    for format in QUANTISED.into_iter().chain(FP8) {
        for lanes in [8, 16] {
            let stored = row_bytes_plain(format, 512);
            assert_eq!(packed_bytes(format, lanes, 32, 512), 32 * stored);
            assert_eq!(packed_bytes(format, lanes, 33, 512), (32 + lanes) * stored);
        }
    }
}

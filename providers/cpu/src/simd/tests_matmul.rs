//! `matmul_bt` against sums in f64, at every path, type and tail, and bit by bit against itself.

use super::ElemType;
use super::lanes::Simd;
use super::matmul::{MatmulArgs, grain, rows_on, scratch_len_on};
use super::tests_support::{ForEach, Memory, Random, TYPES, for_each, rounding};
use core::ops::Range;

/// A product whose rows are padded, with NaN in the padding: reading it would show.
struct Case {
    a: Memory,
    b: Memory,
    bias: Option<Memory>,
    out_type: ElemType,
    m: usize,
    n: usize,
    k: usize,
    pad: usize,
}

impl Case {
    fn new(
        types: [ElemType; 3],
        bias: Option<ElemType>,
        [m, n, k]: [usize; 3],
        pad: usize,
    ) -> Self {
        let mut random = Random((m * 31 + n * 17 + k) as u64);
        let mut rows = |ty, count| {
            Memory::filled(ty, count * (k + pad), |i| {
                if i % (k + pad) < k {
                    random.unit()
                } else {
                    f32::NAN
                }
            })
        };
        let (a, b) = (rows(types[0], m), rows(types[1], n));
        let bias = bias.map(|ty| {
            Memory::filled(
                ty,
                n * 2,
                |i| if i % 2 == 0 { random.unit() } else { f32::NAN },
            )
        });
        Case {
            a,
            b,
            bias,
            out_type: types[2],
            m,
            n,
            k,
            pad,
        }
    }

    /// The output, `n + pad` elements a row, 7 where nothing was written.
    fn run<S: Simd>(&self, s: S, cuts: &[(Range<usize>, Range<usize>)]) -> Memory {
        let stride = self.n + self.pad;
        let mut out = Memory::filled(self.out_type, self.m * stride, |_| 7.0);
        let args = MatmulArgs {
            a: self.a.as_ptr(),
            a_type: self.a.ty,
            a_stride: (self.k + self.pad) as i64,
            b: self.b.as_ptr(),
            b_type: self.b.ty,
            b_stride: (self.k + self.pad) as i64,
            bias: self.bias.as_ref().map_or(core::ptr::null(), Memory::as_ptr),
            bias_type: self.bias.as_ref().map_or(ElemType::F32, |b| b.ty),
            bias_stride: 2,
            out: out.as_mut_ptr(),
            out_type: self.out_type,
            out_stride: stride as i64,
            m: self.m,
            n: self.n,
            k: self.k,
        };
        let mut scratch = vec![f32::NAN; scratch_len_on(s, &args)];
        for (m, n) in cuts {
            // SAFETY: the operands are the test's own and as large as the arguments say.
            unsafe { rows_on(s, &args, m.clone(), n.clone(), &mut scratch) };
        }
        out
    }

    fn whole<S: Simd>(&self, s: S) -> Memory {
        self.run(s, &[(0..self.m, 0..self.n)])
    }

    fn check(&self, out: &Memory, name: &str) {
        for row in 0..self.m {
            for column in 0..self.n + self.pad {
                let got = out.get(row * (self.n + self.pad) + column);
                if column >= self.n {
                    assert_eq!(got, 7.0, "{name}: written behind row {row}");
                    continue;
                }
                let (mut want, mut size) = (0.0, 0.0);
                for i in 0..self.k {
                    let product = self.a.get(row * (self.k + self.pad) + i)
                        * self.b.get(column * (self.k + self.pad) + i);
                    want += product;
                    size += product.abs();
                }
                if let Some(bias) = &self.bias {
                    want += bias.get(column * 2);
                    size += bias.get(column * 2).abs();
                }
                // A lane adds k/lanes products; the output is rounded once.
                let limit = size * (self.k as f64 / 8.0 + 8.0) * rounding(ElemType::F32)
                    + want.abs() * rounding(self.out_type) * 1.001
                    + 1e-7;
                assert!(
                    (got - want).abs() <= limit,
                    "{name}: {:?}·{:?} [{}, {}, {}] at {row}, {column}: {got}; wanted {want} within {limit:e}",
                    self.a.ty,
                    self.b.ty,
                    self.m,
                    self.n,
                    self.k
                );
            }
        }
    }
}

struct Shapes;

impl ForEach for Shapes {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        // Heights 1 to 9 meet each tile and the change of path; depths meet each tail and several blocks.
        for m in [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 97] {
            for n in [1, 3, 4, 8, 21, 65] {
                for k in [1, 7, 8, 15, 16, 17, 33, 100] {
                    Case::new([ElemType::F32; 3], None, [m, n, k], 5).check_on(s, name);
                }
            }
        }
        for m in [1, 5, 11] {
            for k in [511, 512, 513, 1024, 1100] {
                Case::new([ElemType::F32; 3], Some(ElemType::F32), [m, 6, k], 0).check_on(s, name);
            }
        }
    }
}

impl Case {
    fn check_on<S: Simd>(&self, s: S, name: &str) {
        self.check(&self.whole(s), name);
    }
}

#[test]
fn every_shape_is_right() {
    for_each(&mut Shapes);
}

struct Mixes;

impl ForEach for Mixes {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for a in TYPES {
            for b in TYPES {
                for out in TYPES {
                    for m in [1, 4, 10] {
                        Case::new([a, b, out], Some(b), [m, 13, 43], 3).check_on(s, name);
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
        for ty in TYPES {
            for k in [37, 700] {
                let case = Case::new([ty, ty, ElemType::F32], Some(ty), [29, 70, k], 2);
                let whole = case.whole(s);
                for m_step in [1, 2, 3, 4, 6, 7, 8, 9, 16] {
                    for n_step in [1, 5, 8, 70] {
                        let cuts: Vec<_> = (0..29)
                            .step_by(m_step)
                            .flat_map(|m| {
                                (0..70)
                                    .step_by(n_step)
                                    .map(move |n| (m..29.min(m + m_step), n..70.min(n + n_step)))
                            })
                            .collect();
                        assert!(
                            case.run(s, &cuts) == whole,
                            "{name}: {ty:?}, k {k}: {m_step} rows by {n_step} columns at a time give other bits"
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
        for m in [2, 12] {
            // Without depth the output is the bias, or zero.
            let case = Case::new([ElemType::F32; 3], Some(ElemType::F32), [m, 5, 0], 1);
            case.check_on(s, name);
            Case::new([ElemType::Bf16; 3], None, [m, 5, 0], 1).check_on(s, name);
            // Empty ranges touch nothing.
            let out = case.run(s, &[(0..0, 0..5), (1..2, 3..3)]);
            assert!((0..m * 6).all(|i| out.get(i) == 7.0), "{name}");
            // A NaN or infinity in one row stays in that row.
            let mut case = Case::new(
                [ElemType::F16, ElemType::F16, ElemType::F16],
                None,
                [m, 5, 20],
                1,
            );
            case.a.set(21 + 3, f32::NAN);
            case.b.set(2 * 21 + 19, f32::INFINITY);
            let out = case.whole(s);
            for row in 0..m {
                for column in 0..5 {
                    let got = out.get(row * 6 + column);
                    assert_eq!(got.is_nan(), row == 1, "{name}: {row}, {column} is {got}");
                    assert_eq!(
                        got.is_infinite(),
                        row != 1 && column == 2,
                        "{name}: {row}, {column} is {got}"
                    );
                }
            }
        }
    }
}

#[test]
fn empty_depth_empty_ranges_and_nonfinite_values() {
    for_each(&mut Edges);
}

#[test]
fn the_grain_covers_any_product() {
    for isa in [super::Isa::Avx2, super::Isa::Avx512] {
        for m in [0, 1, 8, 9, 96, 4096] {
            for n in [0, 1, 40, 4096] {
                for threads in [0, 1, 2, 64] {
                    let case = Case::new([ElemType::F32; 3], None, [1, 1, 1], 0);
                    let args = MatmulArgs {
                        a: case.a.as_ptr(),
                        a_type: ElemType::F32,
                        a_stride: 1,
                        b: case.b.as_ptr(),
                        b_type: ElemType::F32,
                        b_stride: 1,
                        bias: core::ptr::null(),
                        bias_type: ElemType::F32,
                        bias_stride: 0,
                        out: core::ptr::null_mut(),
                        out_type: ElemType::F32,
                        out_stride: 1,
                        m,
                        n,
                        k: 1,
                    };
                    let (rows, columns) = grain(isa, &args, threads);
                    assert!(
                        rows >= 1 && columns >= 8 && columns % 8 == 0,
                        "{m} by {n}: {rows}, {columns}"
                    );
                }
            }
        }
    }
}

//! `matmul_bt` against sums in f64, at every path, type and tail, and bit by bit against itself.

use super::lanes::Simd;
use super::matmul::avx512::Avx512Bf16;
use super::matmul::panel::Panels;
use super::matmul::wide::WidePairs;
use super::matmul::{Code, MatmulArgs, across, along, grain, scratch_across, scratch_along};
use super::tests_support::{ForEach, Memory, Random, TYPES, for_each, rounding};
use super::tests_wide::Wide;
use super::{ElemType, Isa};
use core::ops::Range;

/// One of the codes with one of the instruction sets.
trait Path {
    fn scratch_len(&self, args: &MatmulArgs) -> usize;
    /// # Safety
    /// As for [`super::matmul::rows`].
    unsafe fn rows(&self, args: &MatmulArgs, m: Range<usize>, n: Range<usize>, scratch: &mut [f32]);
    /// `a` and `b` must be bf16.
    fn pairs(&self) -> bool;
    /// The sums have the one order of lanes across columns.
    fn ordered(&self) -> bool;
}

struct Along<S>(S);

impl<S: Simd> Path for Along<S> {
    fn scratch_len(&self, args: &MatmulArgs) -> usize {
        scratch_along(self.0, args)
    }
    unsafe fn rows(
        &self,
        args: &MatmulArgs,
        m: Range<usize>,
        n: Range<usize>,
        scratch: &mut [f32],
    ) {
        // SAFETY: the caller's contract.
        unsafe { along(self.0, args, m, n, scratch) }
    }
    fn pairs(&self) -> bool {
        false
    }
    fn ordered(&self) -> bool {
        false
    }
}

struct Across<P>(P);

impl<P: Panels> Path for Across<P> {
    fn scratch_len(&self, args: &MatmulArgs) -> usize {
        scratch_across(self.0, args)
    }
    unsafe fn rows(
        &self,
        args: &MatmulArgs,
        m: Range<usize>,
        n: Range<usize>,
        scratch: &mut [f32],
    ) {
        // SAFETY: the caller's contract.
        unsafe { across(self.0, args, m, n, scratch) }
    }
    fn pairs(&self) -> bool {
        P::PER_WORD == 2
    }
    fn ordered(&self) -> bool {
        P::PER_WORD == 1
    }
}

/// Runs a test on every code with every instruction set that this machine has, and with the emulated ones.
fn each_path(test: impl FnMut(&dyn Path, &str)) {
    struct Run<F>(F);
    impl<F: FnMut(&dyn Path, &str)> ForEach for Run<F> {
        fn check<S: Simd>(&mut self, s: S, name: &str) {
            self.0(&Along(s), &format!("{name}, along"));
        }
    }
    let mut run = Run(test);
    for_each(&mut run);
    run.0(&Across(Wide), "emulated, across");
    run.0(&Across(WidePairs), "emulated, pairs");
    if Code::Across(Isa::Avx2).is_available() {
        // SAFETY: just asked.
        run.0(
            &Across(unsafe { super::avx2::Avx2::assume() }),
            "avx2, across",
        );
    }
    if Code::Across(Isa::Avx512).is_available() {
        // SAFETY: just asked.
        let token = unsafe { super::avx512::Avx512::assume() };
        run.0(&Across(token), "avx512, across");
    }
    if Code::Pairs.is_available() {
        // SAFETY: just asked.
        run.0(&Across(unsafe { Avx512Bf16::assume() }), "avx512, pairs");
    } else {
        eprintln!("skipped: this machine has no AVX-512 BF16");
    }
}

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
    fn run(&self, path: &dyn Path, cuts: &[(Range<usize>, Range<usize>)]) -> Memory {
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
        let mut scratch = vec![f32::NAN; path.scratch_len(&args)];
        for (m, n) in cuts {
            // SAFETY: the operands are the test's own and as large as the arguments say.
            unsafe { path.rows(&args, m.clone(), n.clone(), &mut scratch) };
        }
        out
    }

    fn whole(&self, path: &dyn Path) -> Memory {
        self.run(path, &[(0..self.m, 0..self.n)])
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

impl Case {
    fn check_on(&self, path: &dyn Path, name: &str) {
        self.check(&self.whole(path), name);
    }
}

/// The types of a path: all that it takes, for each operand in turn.
fn types(path: &dyn Path) -> Vec<[ElemType; 2]> {
    let all = TYPES.into_iter().flat_map(|a| TYPES.map(|b| [a, b]));
    all.filter(|t| !path.pairs() || *t == [ElemType::Bf16; 2])
        .collect()
}

/// The first type that a path takes.
fn type_of(path: &dyn Path) -> ElemType {
    if path.pairs() {
        ElemType::Bf16
    } else {
        ElemType::F32
    }
}

#[test]
fn every_shape_is_right() {
    each_path(|path, name| {
        let ty = type_of(path);
        // Heights meet each tile and the changes of path; depths meet each tail and several blocks.
        for m in [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 33, 97] {
            for n in [1, 3, 4, 8, 21, 65] {
                for k in [1, 7, 8, 15, 16, 17, 33, 100] {
                    Case::new([ty, ty, ElemType::F32], None, [m, n, k], 5).check_on(path, name);
                }
            }
        }
        for m in [1, 5, 11, 40] {
            for k in [255, 256, 257, 511, 512, 513, 1024, 1100] {
                let types = [ty, ty, ElemType::F32];
                Case::new(types, Some(ElemType::F32), [m, 6, k], 0).check_on(path, name);
            }
        }
        // More rows than are kept at a time, and more columns than a block has.
        Case::new([ty, ty, ElemType::F32], None, [770, 3, 258], 0).check_on(path, name);
        Case::new([ty, ty, ElemType::F32], Some(ty), [34, 270, 20], 1).check_on(path, name);
    });
}

#[test]
fn every_mix_of_types_is_right() {
    each_path(|path, name| {
        for [a, b] in types(path) {
            for out in TYPES {
                for m in [1, 4, 10, 35] {
                    Case::new([a, b, out], Some(b), [m, 13, 43], 3).check_on(path, name);
                }
            }
        }
    });
}

#[test]
fn rows_are_bit_equal_however_the_batch_is_composed() {
    each_path(|path, name| {
        for [ty, _] in types(path).into_iter().filter(|[a, b]| a == b) {
            for k in [37, 700] {
                let case = Case::new([ty, ty, ElemType::F32], Some(ty), [39, 70, k], 2);
                let whole = case.whole(path);
                for m_step in [1, 3, 8, 33] {
                    for n_step in [5, 70] {
                        let cuts: Vec<_> = (0..39)
                            .step_by(m_step)
                            .flat_map(|m| {
                                (0..70)
                                    .step_by(n_step)
                                    .map(move |n| (m..39.min(m + m_step), n..70.min(n + n_step)))
                            })
                            .collect();
                        assert!(
                            case.run(path, &cuts) == whole,
                            "{name}: {ty:?}, k {k}: {m_step} rows by {n_step} columns at a time give other bits"
                        );
                    }
                }
            }
        }
    });
}

/// Across columns the order of the sums is stated, so the bits are known.
#[test]
fn sums_across_columns_have_the_stated_order() {
    let mut ran = 0;
    each_path(|path, name| {
        if !path.ordered() {
            return;
        }
        ran += 1;
        for (m, k) in [(3, 9), (3, 256), (40, 300), (17, 777)] {
            let case = Case::new([ElemType::F32; 3], Some(ElemType::F32), [m, 35, k], 0);
            let out = case.whole(path);
            for row in 0..m {
                for column in 0..35 {
                    let mut total = None;
                    for first in (0..k).step_by(256) {
                        let block = (first..k.min(first + 256)).fold(0.0_f32, |sum, i| {
                            let a = case.a.get(row * k + i) as f32;
                            a.mul_add(case.b.get(column * k + i) as f32, sum)
                        });
                        total = Some(total.map_or(block, |total: f32| total + block));
                    }
                    let bias = case.bias.as_ref().unwrap().get(column * 2) as f32;
                    let want = total.unwrap() + bias;
                    let got = out.get(row * 35 + column) as f32;
                    assert_eq!(got.to_bits(), want.to_bits(), "{name}: {row}, {column}");
                }
            }
        }
    });
    assert!(ran > 0);
}

#[test]
fn empty_depth_empty_ranges_and_nonfinite_values() {
    each_path(|path, name| {
        let ty = type_of(path);
        for m in [2, 12, 40] {
            // Without depth the output is the bias, or zero.
            let case = Case::new([ty, ty, ElemType::F32], Some(ElemType::F32), [m, 5, 0], 1);
            case.check_on(path, name);
            Case::new([ElemType::Bf16; 3], None, [m, 5, 0], 1).check_on(path, name);
            // Empty ranges touch nothing.
            let out = case.run(path, &[(0..0, 0..5), (1..2, 3..3)]);
            assert!((0..m * 6).all(|i| out.get(i) == 7.0), "{name}");
            // A NaN or infinity in one row stays in that row.
            let ty = if path.pairs() {
                ElemType::Bf16
            } else {
                ElemType::F16
            };
            let mut case = Case::new([ty, ty, ElemType::F16], None, [m, 5, 20], 1);
            case.a.set(21 + 3, f32::NAN);
            case.b.set(2 * 21 + 19, f32::INFINITY);
            let out = case.whole(path);
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
    });
}

#[test]
fn the_grain_covers_any_product() {
    for code in [Code::Along(Isa::Avx2), Code::Across(Isa::Avx2), Code::Pairs] {
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
                    let (rows, columns) = grain(code, &args, threads);
                    assert!(
                        rows >= 1 && columns >= 8 && columns % 8 == 0,
                        "{m} by {n}: {rows}, {columns}"
                    );
                }
            }
        }
    }
}

//! `paged_attention` against softmax in f64, over odd shapes, types and batches, and bit by bit against itself.

use super::ElemType;
use super::attention::{AttentionArgs, Item, items, rows_per_item, run_item_on, scratch_len_on};
use super::lanes::Simd;
use super::tests_support::{ForEach, Memory, Random, TYPES, for_each, rounding};

#[derive(Clone)]
struct Shape {
    heads: [usize; 2],
    dims: [usize; 2],
    page: usize,
    /// Query rows and keys of each request.
    requests: Vec<[usize; 2]>,
    types: [ElemType; 4],
    causal: bool,
    window: i64,
    softcap: f32,
    sinks: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
            heads: [2, 1],
            dims: [16, 16],
            page: 16,
            requests: vec![[1, 20]],
            types: [ElemType::F32; 4],
            causal: true,
            window: 0,
            softcap: 0.0,
            sinks: false,
        }
    }
}

/// Operands of one call. Whatever must not be read holds NaN, or a block that does not exist.
struct Case {
    shape: Shape,
    query: Memory,
    k: Memory,
    v: Memory,
    /// Strides of K and V.
    strides: [[i64; 3]; 2],
    table: Vec<i32>,
    columns: usize,
    seq_lens: Vec<i32>,
    starts: Vec<i32>,
    sinks: Vec<f32>,
    scale: f32,
}

const PAD: usize = 3;

impl Case {
    fn new(shape: Shape, seed: u64) -> Self {
        let mut random = Random(seed);
        let [hq, hkv] = shape.heads;
        let [d, dv] = shape.dims;
        let pages: Vec<usize> = shape
            .requests
            .iter()
            .map(|r| r[1].div_ceil(shape.page))
            .collect();
        let columns = pages.iter().max().copied().unwrap_or(0) + 1;
        // One block more than needed, and handed out in a shuffled order, so that no block is where its page number says.
        let blocks = pages.iter().sum::<usize>() + 1;
        let mut order: Vec<i32> = (0..blocks as i32).collect();
        for i in (1..blocks).rev() {
            order.swap(i, random.below(i + 1));
        }
        let rows: usize = shape.requests.iter().map(|r| r[0]).sum();
        let strides = [d, dv].map(|width| {
            let head = (width + PAD) as i64;
            let slot = head * hkv as i64 + 1;
            [slot * shape.page as i64 + 5, slot, head]
        });
        let nan =
            |ty, strides: &[i64; 3]| Memory::filled(ty, blocks * strides[0] as usize, |_| f32::NAN);
        let (mut k, mut v) = (
            nan(shape.types[1], &strides[0]),
            nan(shape.types[2], &strides[1]),
        );
        let mut table = vec![i32::MAX; shape.requests.len() * columns];
        let mut next = 0;
        for (r, [_, len]) in shape.requests.iter().enumerate() {
            for key in 0..*len {
                if key % shape.page == 0 {
                    table[r * columns + key / shape.page] = order[next];
                    next += 1;
                }
                let block = i64::from(table[r * columns + key / shape.page]);
                let slot = (key % shape.page) as i64;
                for head in 0..hkv as i64 {
                    for (memory, strides, width) in
                        [(&mut k, &strides[0], d), (&mut v, &strides[1], dv)]
                    {
                        let at = block * strides[0] + slot * strides[1] + head * strides[2];
                        for i in 0..width {
                            memory.set(at as usize + i, random.unit());
                        }
                    }
                }
            }
        }
        let query = Memory::filled(shape.types[0], rows * hq * (d + PAD), |i| {
            if i % (d + PAD) < d {
                random.unit() * 3.0
            } else {
                f32::NAN
            }
        });
        let mut starts = vec![0];
        for [rows, _] in &shape.requests {
            starts.push(starts.last().unwrap() + *rows as i32);
        }
        let sinks = if shape.sinks {
            (0..hq).map(|_| random.unit() * 2.0).collect()
        } else {
            Vec::new()
        };
        let seq_lens = shape.requests.iter().map(|r| r[1] as i32).collect();
        let scale = 1.7 / (d as f32).sqrt();
        Case {
            shape,
            query,
            k,
            v,
            strides,
            table,
            columns,
            seq_lens,
            starts,
            sinks,
            scale,
        }
    }

    fn args(&self, out: &mut Memory) -> AttentionArgs {
        let [hq, hkv] = self.shape.heads;
        let [d, dv] = self.shape.dims;
        AttentionArgs {
            query: self.query.as_ptr(),
            query_type: self.query.ty,
            query_strides: [(hq * (d + PAD)) as i64, (d + PAD) as i64],
            k_cache: self.k.as_ptr(),
            k_type: self.k.ty,
            k_strides: self.strides[0],
            v_cache: self.v.as_ptr(),
            v_type: self.v.ty,
            v_strides: self.strides[1],
            out: out.as_mut_ptr(),
            out_type: out.ty,
            out_strides: [(hq * (dv + PAD)) as i64, (dv + PAD) as i64],
            block_table: self.table.as_ptr(),
            block_table_strides: [self.columns as i64, 1],
            seq_lens: self.seq_lens.as_ptr(),
            seq_lens_stride: 1,
            query_start: self.starts.as_ptr(),
            query_start_stride: 1,
            sinks: if self.shape.sinks {
                self.sinks.as_ptr()
            } else {
                core::ptr::null()
            },
            sinks_stride: 1,
            requests: self.shape.requests.len(),
            query_heads: hq,
            kv_heads: hkv,
            head_dim: d,
            value_dim: dv,
            page_size: self.shape.page,
            scale: self.scale,
            causal: self.shape.causal,
            window: self.shape.window,
            softcap: self.shape.softcap,
        }
    }

    /// Output rows of `dv + PAD` elements, 7 where nothing was written. `step` cuts items into that many rows.
    fn run<S: Simd>(&self, s: S, step: usize) -> Memory {
        let rows = *self.starts.last().unwrap() as usize * self.shape.heads[0];
        let mut out = Memory::filled(
            self.shape.types[3],
            rows * (self.shape.dims[1] + PAD),
            |_| 7.0,
        );
        let args = self.args(&mut out);
        let mut scratch = vec![f32::NAN; scratch_len_on(s, &args)];
        // SAFETY: the operands are the test's own and as large as the arguments say.
        for item in unsafe { items(&args) } {
            for start in item.rows.clone().step_by(step) {
                let item = Item {
                    rows: start..item.rows.end.min(start.saturating_add(step)),
                    ..item
                };
                // SAFETY: as above; the token is available.
                unsafe { run_item_on(s, &args, &item, &mut scratch) };
            }
        }
        out
    }

    /// The weights of one row and head over its keys, in f64.
    fn weights(&self, request: usize, row: usize, head: usize) -> Vec<f64> {
        let shape = &self.shape;
        let [queries, len] = shape.requests[request];
        let [hq, hkv] = shape.heads;
        let d = shape.dims[0];
        let position = len as i64 - queries as i64 + row as i64;
        let token = self.starts[request] as usize + row;
        let score = |key: usize| {
            let hidden = shape.causal && key as i64 > position
                || shape.window > 0 && (position - key as i64).abs() >= shape.window;
            if hidden {
                return f64::NEG_INFINITY;
            }
            let at = self.place(0, request, key, head / (hq / hkv));
            let dot: f64 = (0..d)
                .map(|i| self.query.get((token * hq + head) * (d + PAD) + i) * self.k.get(at + i))
                .sum();
            let x = dot * f64::from(self.scale);
            let cap = f64::from(shape.softcap);
            if cap == 0.0 {
                x
            } else {
                cap * (x / cap).tanh()
            }
        };
        let scores: Vec<f64> = (0..len).map(score).collect();
        let sink = self
            .sinks
            .get(head)
            .map_or(f64::NEG_INFINITY, |&x| f64::from(x));
        let max = scores.iter().copied().fold(sink, f64::max);
        if max == f64::NEG_INFINITY {
            return vec![0.0; len];
        }
        let sum = scores.iter().map(|x| (x - max).exp()).sum::<f64>() + (sink - max).exp();
        scores.iter().map(|x| (x - max).exp() / sum).collect()
    }

    fn place(&self, which: usize, request: usize, key: usize, head: usize) -> usize {
        let block = i64::from(self.table[request * self.columns + key / self.shape.page]);
        let s = &self.strides[which];
        (block * s[0] + (key % self.shape.page) as i64 * s[1] + head as i64 * s[2]) as usize
    }

    fn check(&self, out: &Memory, name: &str) {
        let shape = &self.shape;
        let [hq, hkv] = shape.heads;
        let dv = shape.dims[1];
        for (request, [queries, _]) in shape.requests.iter().enumerate() {
            for row in 0..*queries {
                for head in 0..hq {
                    let weights = self.weights(request, row, head);
                    let at = ((self.starts[request] as usize + row) * hq + head) * (dv + PAD);
                    for i in 0..dv + PAD {
                        let got = out.get(at + i);
                        if i >= dv {
                            assert_eq!(got, 7.0, "{name}: written behind a row");
                            continue;
                        }
                        let want: f64 = weights
                            .iter()
                            .enumerate()
                            .filter(|(_, w)| **w > 0.0)
                            .map(|(key, w)| {
                                w * self
                                    .v
                                    .get(self.place(1, request, key, head / (hq / hkv)) + i)
                            })
                            .sum();
                        // Scores up to about ten, with 2⁻²⁴ each of their size; values below one.
                        let limit = 4e-6
                            + want.abs() * rounding(out.ty) * 1.001
                            + if out.ty == ElemType::F16 { 3e-8 } else { 0.0 };
                        assert!(
                            (got - want).abs() <= limit,
                            "{name}: request {request}, row {row}, head {head}, element {i}: {got}; wanted {want} within {limit:e}\n\
                             heads {:?}, dims {:?}, page {}, requests {:?}, types {:?}, causal {}, window {}, cap {}, sinks {}",
                            shape.heads,
                            shape.dims,
                            shape.page,
                            shape.requests,
                            shape.types,
                            shape.causal,
                            shape.window,
                            shape.softcap,
                            shape.sinks
                        );
                    }
                }
            }
        }
    }
}

struct Shapes(Vec<Shape>);

impl ForEach for Shapes {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for (i, shape) in self.0.iter().enumerate() {
            let case = Case::new(shape.clone(), i as u64);
            case.check(&case.run(s, usize::MAX), name);
        }
    }
}

#[test]
fn every_head_width_and_ratio_is_right() {
    let mut shapes = Vec::new();
    for (d, dv) in [
        (1, 1),
        (7, 9),
        (8, 16),
        (16, 8),
        (17, 31),
        (64, 64),
        (80, 80),
        (88, 96),
        (112, 112),
        (128, 40),
        (576, 512),
        (1024, 1000),
    ] {
        for [hq, hkv] in [[1, 1], [3, 1], [8, 2], [7, 1]] {
            shapes.push(Shape {
                heads: [hq, hkv],
                dims: [d, dv],
                requests: vec![[1, 70], [2, 9]],
                ..Shape::default()
            });
        }
    }
    for ratio in [2, 4, 5, 6, 16, 33, 71] {
        shapes.push(Shape {
            heads: [ratio * 2, 2],
            dims: [20, 20],
            requests: vec![[3, 66], [1, 1]],
            ..Shape::default()
        });
    }
    for_each(&mut Shapes(shapes));
}

#[test]
fn every_mix_of_types_is_right() {
    let mut shapes = Vec::new();
    for q in TYPES {
        for k in TYPES {
            for v in TYPES {
                for out in TYPES {
                    // Few rows decode in registers, many rows decode to scratch.
                    for queries in [1, 9] {
                        let requests = vec![[queries, 75]];
                        shapes.push(Shape {
                            dims: [21, 37],
                            types: [q, k, v, out],
                            requests,
                            ..Shape::default()
                        });
                    }
                }
            }
        }
    }
    for_each(&mut Shapes(shapes));
}

#[test]
fn masks_caps_sinks_pages_and_lengths_are_right() {
    let mut shapes = Vec::new();
    let lengths = vec![
        [1, 63],
        [1, 64],
        [1, 65],
        [40, 130],
        [0, 12],
        [65, 65],
        [1, 1],
        [5, 3],
        [2, 0],
        [1, 300],
    ];
    for page in [1, 16, 64, 100, 480] {
        for (causal, window) in [
            (true, 0),
            (true, 1),
            (true, 17),
            (true, 64),
            (true, 1000),
            (false, 0),
            (false, 30),
        ] {
            for (softcap, sinks) in [(0.0, false), (2.5, false), (50.0, true), (0.0, true)] {
                let requests = lengths.clone();
                shapes.push(Shape {
                    page,
                    causal,
                    window,
                    softcap,
                    sinks,
                    requests,
                    heads: [4, 2],
                    dims: [24, 12],
                    ..Shape::default()
                });
            }
        }
    }
    for_each(&mut Shapes(shapes));
}

struct Batches;

impl ForEach for Batches {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        for types in [
            [ElemType::F32; 4],
            [ElemType::Bf16, ElemType::Bf16, ElemType::F16, ElemType::F32],
        ] {
            for (heads, window) in [([3, 1], 0), ([8, 2], 50), ([16, 1], 0), ([1, 1], 9)] {
                let requests = vec![[70, 190], [1, 64], [0, 5], [1, 129], [6, 2]];
                let shape = Shape {
                    heads,
                    window,
                    types,
                    dims: [40, 36],
                    requests,
                    ..Shape::default()
                };
                let case = Case::new(shape, 5);
                let whole = case.run(s, usize::MAX);
                case.check(&whole, name);
                for step in [1, 2, 5] {
                    assert!(
                        case.run(s, step) == whole,
                        "{name}: items of {step} rows give other bits, {heads:?}"
                    );
                }
                // Each request alone, one query row at a time: the row as decode would compute it.
                for request in 0..case.shape.requests.len() {
                    for row in 0..case.shape.requests[request][0] {
                        let alone = case.alone(request, row).run(s, usize::MAX);
                        let width = heads[0] * (36 + PAD);
                        let at = (case.starts[request] as usize + row) * width;
                        for i in 0..width {
                            assert_eq!(
                                alone.get(i).to_bits(),
                                whole.get(at + i).to_bits(),
                                "{name}: request {request}, row {row} alone gives other bits, {heads:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}

impl Case {
    /// The call with this row alone, its sequence cut behind it.
    fn alone(&self, request: usize, row: usize) -> Case {
        let [queries, len] = self.shape.requests[request];
        let len = (len + row + 1).saturating_sub(queries);
        let width = self.shape.heads[0] * (self.shape.dims[0] + PAD);
        let at = (self.starts[request] as usize + row) * width;
        Case {
            shape: Shape {
                requests: vec![[1, len]],
                ..self.shape.clone()
            },
            query: Memory::filled(self.query.ty, width, |i| self.query.get(at + i) as f32),
            k: self.k.clone(),
            v: self.v.clone(),
            strides: self.strides,
            table: self.table[request * self.columns..][..self.columns].to_vec(),
            columns: self.columns,
            seq_lens: vec![len as i32],
            starts: vec![0, 1],
            sinks: self.sinks.clone(),
            scale: self.scale,
        }
    }
}

#[test]
fn rows_are_bit_equal_however_the_batch_is_composed() {
    for_each(&mut Batches);
}

struct Poison;

impl ForEach for Poison {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        // A key or value that only later rows see, NaN: the earlier rows of the same item stay as they were.
        for which in [0, 1] {
            let requests = vec![[12, 80]];
            let mut case = Case::new(
                Shape {
                    heads: [3, 1],
                    requests,
                    ..Shape::default()
                },
                9,
            );
            let clean = case.run(s, usize::MAX);
            let at = case.place(which, 0, 75, 0);
            if which == 0 {
                case.k.set(at, f32::NAN)
            } else {
                case.v.set(at, f32::NAN)
            }
            let out = case.run(s, usize::MAX);
            for row in 0..12 {
                for i in 0..3 * (16 + PAD) {
                    let at = row * 3 * (16 + PAD) + i;
                    if row < 7 {
                        assert_eq!(
                            out.get(at).to_bits(),
                            clean.get(at).to_bits(),
                            "{name}: row {row}, {i}"
                        );
                    } else if i % (16 + PAD) == 0 {
                        assert!(
                            out.get(at).is_nan(),
                            "{name}: row {row} saw a NaN and is {}",
                            out.get(at)
                        );
                    }
                }
            }
        }
        // Scores far apart: no overflow, and the greatest takes everything.
        let mut case = Case::new(
            Shape {
                requests: vec![[1, 130]],
                ..Shape::default()
            },
            4,
        );
        case.scale = 1e6;
        case.check(&case.run(s, usize::MAX), name);
        // A sink of −∞ takes nothing; of a great value, everything.
        let mut case = Case::new(
            Shape {
                sinks: true,
                ..Shape::default()
            },
            4,
        );
        case.sinks = vec![f32::NEG_INFINITY, 1e30];
        let out = case.run(s, usize::MAX);
        case.check(&out, name);
        assert!((0..16).all(|i| out.get(16 + PAD + i) == 0.0), "{name}");
    }
}

#[test]
fn what_a_row_does_not_see_cannot_reach_it() {
    for_each(&mut Poison);
}

#[test]
fn items_cover_every_row_once() {
    let requests = vec![[7, 9], [0, 4], [130, 200], [1, 1]];
    let case = Case::new(
        Shape {
            heads: [9, 3],
            requests,
            ..Shape::default()
        },
        1,
    );
    let mut out = Memory::filled(ElemType::F32, 1, |_| 0.0);
    let args = case.args(&mut out);
    let mut seen = vec![0; 138 * 3];
    // SAFETY: `query_start` is the test's own.
    for item in unsafe { items(&args) } {
        assert!(item.rows.len() <= rows_per_item(&args) && !item.rows.is_empty());
        for row in item.rows {
            seen[(case.starts[item.request] as usize + row) * 3 + item.kv_head] += 1;
        }
    }
    assert!(seen.iter().all(|&n| n == 1));
}

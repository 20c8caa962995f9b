//! `paged_attention` against softmax in f64, over odd shapes, types and batches, and bit by bit against itself.

use super::ElemType;
use super::attention::{AttentionArgs, CHUNK, is_kv, merge_item_on, plan_on, power, run_item_on};
use super::lanes::{Simd, Task};
use super::quant::formats::Format;
use super::quant::tests_support::{random_row, value};
use super::tests_support::{ForEach, Memory, Random, TYPES, for_each, rounding};

#[derive(Clone)]
struct Shape {
    heads: [usize; 2],
    dims: [usize; 2],
    page: usize,
    /// Query rows and keys of each request.
    requests: Vec<[usize; 2]>,
    /// Of query and output.
    types: [ElemType; 2],
    /// Of keys and values.
    formats: [Format; 2],
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
            types: [ElemType::F32; 2],
            formats: [Format::F32; 2],
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
    /// Keys and values.
    caches: [Cache; 2],
    table: Vec<i32>,
    columns: usize,
    seq_lens: Vec<i32>,
    starts: Vec<i32>,
    sinks: Vec<f32>,
    scale: f32,
    v_scale: f32,
}

const PAD: usize = 3;

/// Keys or values. Every bit that is not one of theirs is set, which is NaN in every format.
#[derive(Clone)]
struct Cache {
    format: Format,
    bytes: Vec<u8>,
    /// Of pages, slots and heads, in elements.
    strides: [i64; 3],
}

impl Cache {
    fn new(format: Format, blocks: usize, page: usize, heads: usize, width: usize) -> Self {
        let gap = |n: i64| if format.is_blocks() { 32 } else { n };
        let head = width as i64 + gap(PAD as i64);
        let slot = head * heads as i64 + gap(1);
        let strides = [slot * page as i64 + gap(5), slot, head];
        // One element is the least alignment that a plain type needs; the rest is up to the allocator.
        let bytes = vec![0xff; format.bytes_for(blocks * strides[0] as usize)];
        Cache {
            format,
            bytes,
            strides,
        }
    }

    /// Byte offset of a vector.
    fn at(&self, block: i64, slot: usize, head: usize) -> usize {
        let s = &self.strides;
        let element = block * s[0] + slot as i64 * s[1] + head as i64 * s[2];
        self.format.bytes_for(element as usize)
    }

    fn put(&mut self, at: usize, width: usize, random: &mut Random) {
        let mut row = random_row(self.format, width, random);
        if matches!(self.format, Format::E4m3fn | Format::E5m2) {
            // The upper bit of the exponent off: below two.
            row.iter_mut().for_each(|byte| *byte &= 0xbf);
        }
        self.bytes[at..at + row.len()].copy_from_slice(&row);
    }
}

/// About the greatest element that [`Cache::put`] makes.
fn size(format: Format) -> f32 {
    match format {
        Format::F32 | Format::F16 | Format::Bf16 => 1.0,
        Format::E4m3fn | Format::E5m2 => 2.0,
        Format::Q8_0 | Format::Q4_0 | Format::Q5_0 => 3.0,
        _ => 7.0,
    }
}

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
        let [k, v] = shape.formats;
        let mut caches = [
            Cache::new(k, blocks, shape.page, hkv, d),
            Cache::new(v, blocks, shape.page, hkv, dv),
        ];
        let mut table = vec![i32::MAX; shape.requests.len() * columns];
        let mut next = 0;
        for (r, [_, len]) in shape.requests.iter().enumerate() {
            for key in 0..*len {
                if key % shape.page == 0 {
                    table[r * columns + key / shape.page] = order[next];
                    next += 1;
                }
                let block = i64::from(table[r * columns + key / shape.page]);
                for head in 0..hkv {
                    for (cache, width) in caches.iter_mut().zip([d, dv]) {
                        let at = cache.at(block, key % shape.page, head);
                        cache.put(at, width, &mut random);
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
        let scale = 1.7 / (d as f32).sqrt() / size(k);
        Case {
            shape,
            query,
            caches,
            table,
            columns,
            seq_lens,
            starts,
            sinks,
            scale,
            v_scale: 1.0,
        }
    }

    fn args(&self, out: &mut Memory) -> AttentionArgs {
        let [hq, hkv] = self.shape.heads;
        let [d, dv] = self.shape.dims;
        AttentionArgs {
            query: self.query.as_ptr(),
            query_type: self.query.ty,
            query_strides: [(hq * (d + PAD)) as i64, (d + PAD) as i64],
            k_cache: self.caches[0].bytes.as_ptr(),
            k_type: self.caches[0].format,
            k_strides: self.caches[0].strides,
            v_cache: self.caches[1].bytes.as_ptr(),
            v_type: self.caches[1].format,
            v_strides: self.caches[1].strides,
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
            v_scale: self.v_scale,
            causal: self.shape.causal,
            window: self.shape.window,
            softcap: self.shape.softcap,
        }
    }

    /// Output rows of `dv + PAD` elements, 7 where nothing was written. Items cost at most `most`.
    fn run<S: Simd>(&self, s: S, most: u64) -> Memory {
        let rows = *self.starts.last().unwrap() as usize * self.shape.heads[0];
        let mut out = Memory::filled(
            self.shape.types[1],
            rows * (self.shape.dims[1] + PAD),
            |_| 7.0,
        );
        let args = self.args(&mut out);
        // SAFETY: the operands are the test's own and as large as the arguments say; the token is available.
        unsafe {
            let plan = plan_on(s, &args, |_| most);
            let mut partials = vec![f32::NAN; plan.partials];
            let mut scratch = vec![f32::NAN; plan.scratch];
            let partials = partials.as_mut_ptr();
            // In another order than they were made in.
            for item in plan.items.iter().rev() {
                run_item_on(s, &args, item, &mut scratch, partials);
            }
            for item in plan.merges.iter().rev() {
                merge_item_on(s, &args, item, &mut scratch, partials);
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
                .map(|i| {
                    let cache = &self.caches[0];
                    self.query.get((token * hq + head) * (d + PAD) + i)
                        * value(cache.format, &cache.bytes[at..], i)
                })
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
        self.caches[which].at(block, key % self.shape.page, head)
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
                                let at = self.place(1, request, key, head / (hq / hkv));
                                let cache = &self.caches[1];
                                w * value(cache.format, &cache.bytes[at..], i)
                            })
                            .sum::<f64>()
                            * f64::from(self.v_scale);
                        // Scores up to about ten, with 2⁻²⁴ each of their size.
                        let limit = 4e-6 * f64::from(size(shape.formats[1]) * self.v_scale)
                            + want.abs() * rounding(out.ty) * 1.001
                            + if out.ty == ElemType::F16 { 3e-8 } else { 0.0 };
                        assert!(
                            (got - want).abs() <= limit,
                            "{name}: request {request}, row {row}, head {head}, element {i}: {got}; wanted {want} within {limit:e}\n\
                             heads {:?}, dims {:?}, page {}, requests {:?}, types {:?}, formats {:?}, causal {}, window {}, cap {}, sinks {}",
                            shape.heads,
                            shape.dims,
                            shape.page,
                            shape.requests,
                            shape.types,
                            shape.formats,
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
            case.check(&case.run(s, u64::MAX), name);
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
    let formats = || Format::ALL.into_iter().filter(|f| is_kv(*f));
    let mut shapes = Vec::new();
    for k in formats() {
        for v in formats() {
            let wide = k.is_blocks() || v.is_blocks();
            for dims in [[32, 64], [96, 32], [21, 37]] {
                if wide && dims[0] == 21 {
                    continue;
                }
                // Few rows decode in registers, many rows share panels.
                for (queries, heads) in [(1, [1, 1]), (1, [8, 2]), (9, [2, 1])] {
                    shapes.push(Shape {
                        heads,
                        dims,
                        formats: [k, v],
                        requests: vec![[queries, 75]],
                        ..Shape::default()
                    });
                }
            }
        }
    }
    for query in TYPES {
        for out in TYPES {
            shapes.push(Shape {
                dims: [21, 37],
                types: [query, out],
                requests: vec![[1, 75], [9, 75]],
                ..Shape::default()
            });
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
        for (types, formats) in [
            ([ElemType::F32; 2], [Format::F32; 2]),
            ([ElemType::Bf16, ElemType::F32], [Format::Bf16, Format::F16]),
            ([ElemType::F16, ElemType::F32], [Format::Q8_0, Format::Q5_1]),
        ] {
            let dims = if formats[0].is_blocks() {
                [64, 32]
            } else {
                [40, 36]
            };
            for (heads, window) in [([3, 1], 0), ([8, 2], 50), ([16, 1], 0), ([1, 1], 9)] {
                let requests = vec![[70, 190], [1, 64], [0, 5], [1, 129], [6, 2]];
                let shape = Shape {
                    heads,
                    window,
                    types,
                    formats,
                    dims,
                    requests,
                    ..Shape::default()
                };
                Case::new(shape, 5).holds_in_parts(s, name);
            }
            // Sequences of several chunks, and a window that begins in one and ends in the next.
            for (heads, window) in [([2, 1], 0), ([10, 5], 200), ([33, 1], 0)] {
                let requests = vec![[3, 2 * CHUNK + 1], [1, CHUNK + 70], [1, CHUNK]];
                let shape = Shape {
                    heads,
                    window,
                    types,
                    formats,
                    dims,
                    requests,
                    sinks: true,
                    ..Shape::default()
                };
                Case::new(shape, 6).holds_in_parts(s, name);
            }
        }
    }
}

impl Case {
    /// The whole call is right, and has the same bits however it is cut, and each row the same alone.
    fn holds_in_parts<S: Simd>(&self, s: S, name: &str) {
        let heads = self.shape.heads;
        let whole = self.run(s, u64::MAX);
        self.check(&whole, name);
        for most in [1, 100_000] {
            assert!(
                self.run(s, most) == whole,
                "{name}: items of at most {most} give other bits, {heads:?}"
            );
        }
        // Each request alone, one query row at a time: the row as decode would compute it.
        for request in 0..self.shape.requests.len() {
            for row in 0..self.shape.requests[request][0] {
                let alone = self
                    .alone(request, row)
                    .run(s, if row % 2 == 0 { 1 } else { u64::MAX });
                let width = heads[0] * (self.shape.dims[1] + PAD);
                let at = (self.starts[request] as usize + row) * width;
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
            caches: self.caches.clone(),
            table: self.table[request * self.columns..][..self.columns].to_vec(),
            columns: self.columns,
            seq_lens: vec![len as i32],
            starts: vec![0, 1],
            sinks: self.sinks.clone(),
            scale: self.scale,
            v_scale: self.v_scale,
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
            let clean = case.run(s, u64::MAX);
            let at = case.place(which, 0, 75, 0);
            case.caches[which].bytes[at..at + 4].fill(0xff);
            let out = case.run(s, u64::MAX);
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
        case.check(&case.run(s, u64::MAX), name);
        // A sink of −∞ takes nothing; of a great value, everything.
        let mut case = Case::new(
            Shape {
                sinks: true,
                ..Shape::default()
            },
            4,
        );
        case.sinks = vec![f32::NEG_INFINITY, 1e30];
        let out = case.run(s, u64::MAX);
        case.check(&out, name);
        assert!((0..16).all(|i| out.get(16 + PAD + i) == 0.0), "{name}");
    }
}

#[test]
fn what_a_row_does_not_see_cannot_reach_it() {
    for_each(&mut Poison);
}

/// Rows whose keys end around every place where a chunk or a tile does, and windows that begin there.
#[test]
fn lengths_around_chunks_and_tiles_are_right() {
    let mut shapes = Vec::new();
    for len in [
        CHUNK - 1,
        CHUNK,
        CHUNK + 1,
        CHUNK + 63,
        CHUNK + 64,
        CHUNK + 65,
        2 * CHUNK - 1,
        2 * CHUNK,
        2 * CHUNK + 1,
    ] {
        for (queries, heads) in [(1, [2, 1]), (3, [5, 1]), (12, [2, 2])] {
            for window in [0, 2, CHUNK - 1, CHUNK, CHUNK + 1] {
                shapes.push(Shape {
                    heads,
                    dims: [8, 12],
                    requests: vec![[queries, len]],
                    window: window as i64,
                    sinks: len % 2 == 0,
                    ..Shape::default()
                });
            }
        }
    }
    for_each(&mut Shapes(shapes));
}

struct Scaled;

impl ForEach for Scaled {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        let mut case = Case::new(
            Shape {
                formats: [Format::E4m3fn, Format::Q4_0],
                dims: [32, 32],
                requests: vec![[1, CHUNK + 9], [20, 30]],
                ..Shape::default()
            },
            3,
        );
        case.v_scale = 0.375;
        case.check(&case.run(s, u64::MAX), name);
        case.check(&case.run(s, 1), name);
    }
}

#[test]
fn values_are_scaled() {
    for_each(&mut Scaled);
}

struct Covers;

impl ForEach for Covers {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        let requests = vec![[7, 1300], [0, 4], [130, 200], [1, 1], [1, 2000], [4, 3]];
        let case = Case::new(
            Shape {
                heads: [9, 3],
                requests: requests.clone(),
                ..Shape::default()
            },
            1,
        );
        let mut out = Memory::filled(ElemType::F32, 1, |_| 0.0);
        let args = case.args(&mut out);
        for most in [1, 10_000, 200_000, u64::MAX] {
            // SAFETY: lengths are the test's own.
            let plan = unsafe { plan_on(s, &args, |_| most) };
            let mut written = vec![0; 143 * 9];
            let mut chunks = std::collections::HashSet::new();
            for item in &plan.items {
                assert!(!item.rows.is_empty() && !item.kv_heads.is_empty());
                for head in item.kv_heads.clone() {
                    for row in item.rows.clone() {
                        if item.partial.is_none() {
                            written[(case.starts[item.request] as usize * 3 + row) * 3 + head] += 1;
                        }
                        for chunk in item.chunks.clone() {
                            assert!(
                                chunks.insert((item.request, row, head, chunk)),
                                "{name}: a chunk is worked on twice"
                            );
                        }
                    }
                }
            }
            for item in &plan.merges {
                for head in item.kv_heads.clone() {
                    for row in item.rows.clone() {
                        written[(case.starts[item.request] as usize * 3 + row) * 3 + head] += 1;
                    }
                }
            }
            assert!(
                written.iter().all(|&n| n == 1),
                "{name}: every row is written once"
            );
            for (request, [queries, len]) in requests.iter().enumerate() {
                for row in 0..queries * 3 {
                    let last = len.saturating_sub(queries - row / 3);
                    for chunk in 0..last.div_ceil(CHUNK) {
                        for head in 0..3 {
                            assert!(
                                chunks.contains(&(request, row, head, chunk)),
                                "{name}: request {request}, row {row} lacks chunk {chunk}"
                            );
                        }
                    }
                }
            }
            assert_eq!(plan.merges.is_empty(), most == u64::MAX);
        }
    }
}

#[test]
fn items_cover_every_row_and_chunk_once() {
    for_each(&mut Covers);
}

/// Powers of the floats at the pointer, a vector of them, in place.
struct Power(*mut f32);

impl Task for Power {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        // SAFETY: the test passes sixteen floats, the widest vector.
        unsafe { s.store(self.0, power(s, s.load(self.0))) };
    }
}

struct Powers;

impl ForEach for Powers {
    fn check<S: Simd>(&mut self, s: S, name: &str) {
        let of = |x: f32| {
            let mut lanes = [x; 16];
            s.run(Power(lanes.as_mut_ptr()));
            lanes[0]
        };
        let mut worst = 0.0_f64;
        for i in 0..400_000 {
            // To −126 in uneven steps, and finely around zero.
            let x = if i % 2 == 0 {
                -(i as f32) * 3.125e-4
            } else {
                -(i as f32) * 1.1e-6
            };
            let (got, want) = (of(x), f64::from(x).exp2());
            if x < -125.0 {
                assert_eq!(got, 0.0, "{name}: 2^{x}");
                continue;
            }
            let unit = 2_f64.powi(want.log2().floor() as i32 - 23);
            worst = worst.max((f64::from(got) - want).abs() / unit);
        }
        assert!(worst <= 1.5, "{name}: {worst} units in the last place");
        assert_eq!(of(0.0), 1.0);
        assert_eq!(of(f32::NEG_INFINITY), 0.0);
        assert!(of(f32::NAN).is_nan());
    }
}

#[test]
fn powers_hold_their_stated_error() {
    for_each(&mut Powers);
}

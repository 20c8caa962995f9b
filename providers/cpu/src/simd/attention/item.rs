//! One item: the walk over the tiles of keys.
//!
//! What makes it batch-invariant: tiles lie at fixed positions of the sequence; a row skips a tile of which it sees nothing,
//! and otherwise takes part with exactly the keys it sees; inside a tile its products, weights and values are computed in an
//! order that the other rows of the item do not change (`dot.rs`, `softmax.rs`, `values.rs`); decoding is exact, so decoding
//! once to scratch or at each use is the same.

use super::super::convert::{decode, encode};
use super::super::dot::{next_height, with_height};
use super::super::elem::{ElemType, with_elem};
use super::super::lanes::Simd;
use super::super::scratch::{Cutter, len_for};
use super::pages::{Vectors, find, pack};
use super::scores::Scores;
use super::softmax::{Running, Weights};
use super::values::Values;
use super::{AttentionArgs, Item, KEYS, rows_per_item};
use core::marker::PhantomData;
use core::ops::Range;

/// Scratch memory of an item, cut up. Rows are query rows times the heads of the group, heads innermost.
struct Parts<'a> {
    /// Queries, `d` floats a row, zero behind the head dimension.
    query: &'a mut [f32],
    /// Output before it is divided by the sum of the weights, `dv` floats a row.
    out: &'a mut [f32],
    /// Scores and then weights, [`KEYS`] a row.
    scores: &'a mut [f32],
    /// What a row's output so far is to be multiplied by.
    factors: &'a mut [f32],
    /// Running maximum and sum, two floats a row.
    running: &'a mut [f32],
    /// A tile of keys decoded, `d` floats a key.
    keys: &'a mut [f32],
    /// A tile of values decoded, `dv` floats a key.
    values: &'a mut [f32],
}

impl<'a> Parts<'a> {
    fn sizes<S: Simd>(args: &AttentionArgs) -> [usize; 7] {
        let rows = rows_per_item(args) * args.group();
        let (d, dv) = padded::<S>(args);
        [
            rows * d,
            rows * dv,
            rows * KEYS,
            rows,
            rows * 2,
            KEYS * d,
            KEYS * dv,
        ]
    }

    fn cut<S: Simd>(args: &AttentionArgs, scratch: &'a mut [f32]) -> Self {
        let mut cutter = Cutter::new(scratch);
        let [query, out, scores, factors, running, keys, values] =
            Self::sizes::<S>(args).map(|n| cutter.cut(n));
        Parts {
            query,
            out,
            scores,
            factors,
            running,
            keys,
            values,
        }
    }
}

pub fn scratch_len<S: Simd>(_s: S, args: &AttentionArgs) -> usize {
    len_for(&Parts::sizes::<S>(args))
}

/// The head dimensions in whole vectors.
fn padded<S: Simd>(args: &AttentionArgs) -> (usize, usize) {
    (
        args.head_dim.next_multiple_of(S::LANES),
        args.value_dim.next_multiple_of(S::LANES),
    )
}

/// What is worked on.
struct Work<'a, S> {
    s: S,
    args: &'a AttentionArgs,
    item: &'a Item,
    group: usize,
    /// Rows with their heads.
    rows: usize,
    seq_len: usize,
    /// Position in the sequence of the first query row.
    position: i64,
    /// First query row in the operand.
    first_row: usize,
}

/// # Safety
/// As for [`super::run_item`].
pub unsafe fn run<S: Simd>(s: S, args: &AttentionArgs, item: &Item, scratch: &mut [f32]) {
    assert!(
        item.rows.len() <= rows_per_item(args),
        "{} rows in one item",
        item.rows.len()
    );
    // SAFETY: the caller's contract.
    let (seq_len, query) = unsafe { (args.seq_len(item.request), args.query_rows(item.request)) };
    let position = seq_len as i64 - query.len() as i64 + item.rows.start as i64;
    let (group, first_row) = (args.group(), query.start + item.rows.start);
    let work = Work {
        s,
        args,
        item,
        group,
        rows: item.rows.len() * group,
        seq_len,
        position,
        first_row,
    };
    if work.rows == 0 {
        return;
    }
    let mut parts = Parts::cut::<S>(args, scratch);
    // SAFETY: the caller's contract, passed on.
    unsafe {
        work.begin(&mut parts);
        work.walk(&mut parts);
        work.end(&parts);
    }
}

impl<S: Simd> Work<'_, S> {
    /// Keys that a row sees.
    fn visible(&self, row: usize) -> Range<usize> {
        self.args
            .visible(self.position + (row / self.group) as i64, self.seq_len)
    }

    /// Byte offset of a row in the queries or the output.
    fn place(&self, row: usize, strides: &[i64; 2], ty: ElemType) -> isize {
        let token = (self.first_row + row / self.group) as i64;
        let head = (self.item.kv_head * self.group + row % self.group) as i64;
        (token * strides[0] + head * strides[1]) as isize * ty.bytes() as isize
    }

    /// Decodes the queries and sets every row to having seen nothing but its sink.
    ///
    /// # Safety
    /// As for [`super::run_item`].
    unsafe fn begin(&self, parts: &mut Parts) {
        let args = self.args;
        let (d, _) = padded::<S>(args);
        parts.out.fill(0.0);
        for row in 0..self.rows {
            let head = self.item.kv_head * self.group + row % self.group;
            let sink = (!args.sinks.is_null()).then(|| {
                // SAFETY: the head is one of the query heads.
                unsafe {
                    *args
                        .sinks
                        .wrapping_offset(head as isize * args.sinks_stride as isize)
                }
            });
            let start = Running::start(sink);
            (parts.running[row * 2], parts.running[row * 2 + 1]) = (start.max, start.sum);
            let from =
                args.query
                    .wrapping_offset(self.place(row, &args.query_strides, args.query_type));
            let to = &mut parts.query[row * d..(row + 1) * d];
            // SAFETY: the row's query is readable by the caller's contract.
            unsafe {
                decode(
                    self.s,
                    args.query_type,
                    from,
                    to.as_mut_ptr(),
                    args.head_dim,
                    d,
                )
            };
        }
    }

    /// Goes over the tiles that any row sees.
    ///
    /// # Safety
    /// As for [`super::run_item`].
    unsafe fn walk(&self, parts: &mut Parts) {
        // Rows ascend in position, so the first sees the earliest key and the last the latest.
        let seen = self.visible(0).start..self.visible(self.rows - 1).end;
        if seen.is_empty() {
            return;
        }
        let find = |tile: usize| {
            let keys = seen.start.max(tile)..seen.end.min(tile + KEYS);
            // SAFETY: the keys lie in this tile and inside the sequence.
            let (k, v) = unsafe {
                find(
                    self.args,
                    self.item.request,
                    self.item.kv_head,
                    keys.clone(),
                )
            };
            Found {
                k,
                v,
                places: keys.start - tile..keys.end - tile,
            }
        };
        let mut tile = seen.start / KEYS * KEYS;
        let mut found = find(tile);
        while tile < seen.end {
            // The keys and values of the next tile come into the cache while this one is worked on: pages lie anywhere, so
            // the hardware does not see them coming.
            let next = if tile + KEYS < seen.end {
                Some(find(tile + KEYS))
            } else {
                None
            };
            // SAFETY: the caller's contract, passed on.
            unsafe { self.tile(parts, tile, &mut found, next.as_ref()) };
            tile += KEYS;
            if let Some(next) = next {
                found = next;
            }
        }
    }

    /// One tile of keys: scores, weights, values. The keys are taken some at a time, so that what is decoded is used while it
    /// is in the first-level cache.
    ///
    /// # Safety
    /// As for [`super::run_item`]; `found` is what [`find`] gave for this tile, `next` for the following one.
    unsafe fn tile(&self, parts: &mut Parts, tile: usize, found: &mut Found, next: Option<&Found>) {
        let (args, places) = (self.args, found.places.clone());
        let (d, dv) = padded::<S>(args);
        // With one or two tiles of rows, decoding in registers is cheaper than a way through memory.
        let packs = self.rows > 2 * S::ROWS;
        let step = if !packs || self.rows >= 16 { KEYS } else { 16 };
        let (k_ahead, v_ahead) = (next.map(|f| &f.k), next.map(|f| &f.v));
        let mut k_type = args.k_type;
        for start in (0..KEYS).step_by(step) {
            let part = start..start + step;
            let places = places.start.max(part.start)..places.end.min(part.end);
            if places.is_empty() {
                continue;
            }
            if packs {
                // SAFETY: `find` points at whole keys.
                unsafe {
                    pack(
                        self.s,
                        args.k_type,
                        &mut found.k,
                        k_ahead,
                        places.clone(),
                        args.head_dim,
                        d,
                        parts.keys,
                    );
                }
                k_type = ElemType::F32;
                // Groups of four are read whole: what lies outside repeats a key that is decoded.
                let (first, last) = (found.k[places.start], found.k[places.end - 1]);
                found.k[places.start / 4 * 4..places.start].fill(first);
                found.k[places.end..places.end.next_multiple_of(4)].fill(last);
            }
            self.scores(parts, &found.k, k_ahead.filter(|_| !packs), k_type, places);
        }
        let in_tile = |row: usize| {
            let seen = self.visible(row);
            seen.start.clamp(tile, tile + KEYS) - tile..seen.end.clamp(tile, tile + KEYS) - tile
        };
        self.weights(parts, in_tile);
        let mut v_type = args.v_type;
        for start in (0..KEYS).step_by(step) {
            let part = start..start + step;
            let places = places.start.max(part.start)..places.end.min(part.end);
            if places.is_empty() {
                continue;
            }
            if packs {
                // SAFETY: `find` points at whole values.
                unsafe {
                    pack(
                        self.s,
                        args.v_type,
                        &mut found.v,
                        v_ahead,
                        places,
                        args.value_dim,
                        dv,
                        parts.values,
                    );
                }
                v_type = ElemType::F32;
            }
            self.values(
                parts,
                &found.v,
                v_ahead.filter(|_| !packs),
                v_type,
                part,
                in_tile,
            );
        }
    }

    /// Products of all rows with the keys at `places`.
    fn scores(
        &self,
        parts: &mut Parts,
        keys: &Vectors,
        ahead: Option<&Vectors>,
        ty: ElemType,
        places: Range<usize>,
    ) {
        let (d, _) = padded::<S>(self.args);
        let mut row = 0;
        while row < self.rows {
            let height = next_height::<S>(self.rows - row);
            let query = parts.query[row * d..(row + height) * d].as_ptr();
            let scores = parts.scores[row * KEYS..(row + height) * KEYS].as_mut_ptr();
            let (dim, places) = (self.args.head_dim, places.clone());
            let ahead = ahead.filter(|_| row == 0);
            with_height!(S, height, R => with_elem!(ty, B => {
                self.s.run(Scores::<B, R> { query, padded: d, dim, keys, ahead, places, scores, elem: PhantomData })
            }));
            row += height;
        }
    }

    /// From scores to weights, row by row.
    fn weights(&self, parts: &mut Parts, in_tile: impl Fn(usize) -> Range<usize>) {
        for (row, scores) in parts
            .scores
            .as_chunks_mut::<KEYS>()
            .0
            .iter_mut()
            .take(self.rows)
            .enumerate()
        {
            let visible = in_tile(row);
            if visible.is_empty() {
                continue;
            }
            let running = Running {
                max: parts.running[row * 2],
                sum: parts.running[row * 2 + 1],
            };
            let (scale, softcap) = (self.args.scale, self.args.softcap);
            let (running, factor) = self.s.run(Weights {
                scores,
                visible,
                scale,
                softcap,
                running,
            });
            (parts.running[row * 2], parts.running[row * 2 + 1]) = (running.max, running.sum);
            parts.factors[row] = factor;
        }
    }

    /// Adds the weighted values of the keys in `part` to the rows that see them.
    fn values(
        &self,
        parts: &mut Parts,
        values: &Vectors,
        ahead: Option<&Vectors>,
        ty: ElemType,
        part: Range<usize>,
        in_tile: impl Fn(usize) -> Range<usize>,
    ) {
        let (_, dv) = padded::<S>(self.args);
        let in_part = |row: usize| {
            let seen = in_tile(row);
            seen.start.max(part.start)..seen.end.min(part.end)
        };
        let mut row = 0;
        while row < self.rows {
            let mut height = next_height::<S>(self.rows - row);
            let places = in_part(row);
            if in_tile(row) != in_tile(row + height - 1) {
                // Rows that see different keys do not go together, so that each adds exactly what it sees.
                height = 1;
            }
            if !places.is_empty() {
                // The factor belongs before the tile's first key; later parts multiply by one, which changes no bit.
                let first = places.start == in_tile(row).start;
                let factors = &parts.factors[row..row + height];
                let out = parts.out[row * dv..(row + height) * dv].as_mut_ptr();
                let weights = parts.scores[row * KEYS..(row + height) * KEYS].as_ptr();
                let dim = self.args.value_dim;
                let ahead = ahead.filter(|_| row == 0);
                with_height!(S, height, R => with_elem!(ty, B => {
                    let factors = core::array::from_fn(|i| if first { factors[i] } else { 1.0 });
                    self.s.run(Values::<B, R> {
                        out, padded: dv, dim, weights, factors, values, ahead, places, elem: PhantomData,
                    })
                }));
            }
            row += height;
        }
    }

    /// Divides by the sums of the weights and writes the output rows.
    ///
    /// # Safety
    /// As for [`super::run_item`].
    unsafe fn end(&self, parts: &Parts) {
        let args = self.args;
        let (_, dv) = padded::<S>(args);
        for row in 0..self.rows {
            let sum = parts.running[row * 2 + 1];
            // A row that saw no key has only zeros; 1/0 would make them NaN.
            let factor = if sum == 0.0 { 0.0 } else { 1.0 / sum };
            let from = &parts.out[row * dv..(row + 1) * dv];
            let to = args
                .out
                .wrapping_offset(self.place(row, &args.out_strides, args.out_type));
            // SAFETY: the row's output is writable by the caller's contract.
            unsafe {
                encode(
                    self.s,
                    args.out_type,
                    from.as_ptr(),
                    to,
                    args.value_dim,
                    factor,
                )
            };
        }
    }
}

/// Where a tile's keys and values lie, and which of its places have one that a row sees.
struct Found {
    k: Vectors,
    v: Vectors,
    places: Range<usize>,
}

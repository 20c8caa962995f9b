//! One item: the walk over its chunks, tiles and KV heads.
//!
//! What makes it batch-invariant: chunks and tiles lie at fixed positions of the sequence; a row skips a tile of which it sees
//! nothing, and otherwise takes part with exactly the keys it sees; inside a tile its products, weights and values are computed
//! in an order that the other rows of the item do not change (`scores.rs`, `softmax.rs`, `values.rs`); decoding is exact, so
//! decoding once to a panel or at each use is the same; and every chunk begins with nothing, whoever works on it, and is merged
//! by the same operation (`state.rs`).

use super::super::convert::{decode, encode};
use super::super::lanes::Simd;
use super::super::scratch::{Cutter, len_for};
use super::pages::Found;
use super::softmax::Running;
use super::state::{Rows, rows_len};
use super::unit::Unit;
use super::{AttentionArgs, CHUNK, Item, TILE};
use core::ops::Range;

/// The head dimensions in whole vectors.
pub fn padded<S: Simd>(args: &AttentionArgs) -> (usize, usize) {
    (
        args.head_dim.next_multiple_of(S::LANES),
        args.value_dim.next_multiple_of(S::LANES),
    )
}

/// Scratch memory of an item, cut up.
struct Parts<'a> {
    /// Queries, `d` floats a row, zero behind the head dimension; by KV head.
    query: &'a mut [f32],
    /// What rows gather in one chunk, by KV head; unused if it goes to the partial results.
    chunk: &'a mut [f32],
    /// What rows have gathered in all chunks, by KV head.
    total: &'a mut [f32],
    /// Of one KV head at a time.
    work: super::unit::Parts<'a>,
}

fn sizes<S: Simd>(args: &AttentionArgs, item: &Item) -> [usize; 7] {
    let (rows, heads) = (item.rows.len(), item.kv_heads.len());
    let (d, dv) = padded::<S>(args);
    let gathered = heads * rows_len(rows, dv);
    let [scores, factors, keys, values] = super::unit::sizes::<S>(args, rows, heads);
    [
        heads * rows * d,
        gathered,
        gathered,
        scores,
        factors,
        keys,
        values,
    ]
}

/// Floats of scratch memory for this item.
pub fn scratch_len<S: Simd>(_s: S, args: &AttentionArgs, item: &Item) -> usize {
    len_for(&sizes::<S>(args, item))
}

impl<'a> Parts<'a> {
    fn cut<S: Simd>(args: &AttentionArgs, item: &Item, scratch: &'a mut [f32]) -> Self {
        let mut cutter = Cutter::new(scratch);
        let [query, chunk, total, scores, factors, keys, values] =
            sizes::<S>(args, item).map(|n| cutter.cut(n));
        Parts {
            query,
            chunk,
            total,
            work: super::unit::Parts {
                scores,
                factors,
                keys,
                values,
            },
        }
    }
}

/// What is worked on.
struct Work<'a, S> {
    s: S,
    args: &'a AttentionArgs,
    item: &'a Item,
    /// First query row of the request, in the operand.
    first_row: usize,
}

/// # Safety
/// As for [`super::run_item`].
pub unsafe fn run<S: Simd>(
    s: S,
    args: &AttentionArgs,
    item: &Item,
    scratch: &mut [f32],
    partials: *mut f32,
) {
    // SAFETY: the caller's contract.
    let first_row = unsafe { args.query_rows(item.request) }.start;
    let work = Work {
        s,
        args,
        item,
        first_row,
    };
    let mut parts = Parts::cut::<S>(args, item, scratch);
    // SAFETY: the caller's contract, passed on.
    unsafe {
        work.begin(&mut parts);
        match item.partial {
            None => {
                work.walk(&mut parts, None);
                work.end(&mut parts);
            }
            Some(at) => work.walk(&mut parts, Some(partials.add(at))),
        }
    }
}

/// Merges the partial results of an item's rows, and writes their output.
///
/// # Safety
/// As for [`super::merge_item`].
pub unsafe fn merge<S: Simd>(
    s: S,
    args: &AttentionArgs,
    item: &Item,
    scratch: &mut [f32],
    partials: *mut f32,
) {
    // SAFETY: the caller's contract.
    let first_row = unsafe { args.query_rows(item.request) }.start;
    let work = Work {
        s,
        args,
        item,
        first_row,
    };
    let mut parts = Parts::cut::<S>(args, item, scratch);
    let (rows, (_, dv)) = (item.rows.len(), padded::<S>(args));
    let unit = rows_len(rows, dv);
    let at = item.partial.unwrap_or_default();
    // SAFETY: the caller's contract, passed on. An item's partial results are those of its first KV head and chunk, and those of
    // the same head in the next chunk follow behind all heads.
    unsafe {
        work.clear_totals(&mut parts);
        for chunk in item.chunks.clone() {
            for head in 0..item.kv_heads.len() {
                let before = (chunk - item.chunks.start) * args.kv_heads + head;
                let memory =
                    core::slice::from_raw_parts_mut(partials.add(at + before * unit), unit);
                let part = Rows::of(memory, rows, dv);
                work.merge(
                    &mut parts.total[head * unit..(head + 1) * unit],
                    &part,
                    chunk,
                );
            }
        }
        work.end(&mut parts);
    }
}

impl<S: Simd> Work<'_, S> {
    /// Byte offset of a row in the queries or the output, in elements.
    fn place(&self, head: usize, row: usize, strides: &[i64; 2]) -> isize {
        let group = self.args.group();
        let row = self.item.rows.start + row;
        let token = (self.first_row + row / group) as i64;
        let head = ((self.item.kv_heads.start + head) * group + row % group) as i64;
        (token * strides[0] + head * strides[1]) as isize
    }

    /// Floats that the rows of one head gather.
    fn unit(&self) -> usize {
        rows_len(self.item.rows.len(), padded::<S>(self.args).1)
    }

    /// Decodes the queries.
    ///
    /// # Safety
    /// As for [`super::run_item`].
    unsafe fn begin(&self, parts: &mut Parts) {
        let args = self.args;
        let (d, _) = padded::<S>(args);
        let rows = self.item.rows.len();
        for (i, to) in parts.query.chunks_exact_mut(d.max(1)).enumerate() {
            let at = self.place(i / rows, i % rows, &args.query_strides);
            let from = args
                .query
                .wrapping_offset(at * args.query_type.bytes() as isize);
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

    /// Sets every row to having seen nothing but its sink.
    ///
    /// # Safety
    /// As for [`super::run_item`].
    unsafe fn clear_totals(&self, parts: &mut Parts) {
        let args = self.args;
        let (rows, (_, dv)) = (self.item.rows.len(), padded::<S>(args));
        for head in 0..self.item.kv_heads.len() {
            let unit = self.unit();
            let memory = &mut parts.total[head * unit..(head + 1) * unit];
            Rows::of(memory, rows, dv).clear(|row| {
                let query_head = self.place(head, row, &[0, 1]);
                let sink = (!args.sinks.is_null()).then(|| {
                    // SAFETY: the head is one of the query heads.
                    unsafe {
                        *args
                            .sinks
                            .wrapping_offset(query_head * args.sinks_stride as isize)
                    }
                });
                Running::start(sink)
            });
        }
    }

    /// Goes over the chunks. Each goes to its place behind `partials`, or is merged to the totals.
    ///
    /// # Safety
    /// As for [`super::run_item`]; `partials` points at the item's own partial results.
    unsafe fn walk(&self, parts: &mut Parts, partials: Option<*mut f32>) {
        let (args, item) = (self.args, self.item);
        let (rows, (_, dv)) = (item.rows.len(), padded::<S>(args));
        let (unit, heads) = (self.unit(), item.kv_heads.len());
        if partials.is_none() {
            // SAFETY: the caller's contract.
            unsafe { self.clear_totals(parts) };
        }
        // SAFETY: the caller's contract.
        let seen = unsafe { args.seen(item.request, &item.rows) };
        for chunk in item.chunks.clone() {
            let keys = seen.start.max(chunk * CHUNK)..seen.end.min((chunk + 1) * CHUNK);
            let gathered = match partials {
                None => &mut *parts.chunk,
                // SAFETY: the item's part of the chunk's results is as long as its heads need, and nothing else touches it.
                Some(at) => unsafe {
                    let before = (chunk - item.chunks.start) * args.kv_heads;
                    core::slice::from_raw_parts_mut(at.add(before * unit), heads * unit)
                },
            };
            for memory in gathered.chunks_exact_mut(unit) {
                Rows::of(memory, rows, dv).clear(|_| Running::NOTHING);
            }
            // SAFETY: the caller's contract, passed on.
            unsafe { self.chunk(parts.query, gathered, &mut parts.work, keys) };
            if partials.is_none() {
                for (total, part) in parts
                    .total
                    .chunks_exact_mut(unit)
                    .zip(parts.chunk.chunks_exact_mut(unit))
                {
                    let part = Rows::of(part, rows, dv);
                    // SAFETY: the caller's contract, passed on.
                    unsafe { self.merge(total, &part, chunk) };
                }
            }
        }
    }

    /// Merges a chunk into the totals of the rows that see any of it.
    ///
    /// # Safety
    /// As for [`super::run_item`].
    unsafe fn merge(&self, total: &mut [f32], part: &Rows<'_>, chunk: usize) {
        let (_, dv) = padded::<S>(self.args);
        let rows = self.item.rows.len();
        let mut total = Rows::of(total, rows, dv);
        // SAFETY: the caller's contract.
        let sees = |rows: Range<usize>| unsafe { self.args.seen(self.item.request, &rows) };
        let start = self.item.rows.start;
        // Both ends ascend, so what the first and the last row see part of, all do.
        let all = sees(start..start + 1).end > chunk * CHUNK
            && sees(start + rows - 1..start + rows).start < (chunk + 1) * CHUNK;
        for row in 0..rows {
            let seen = if all {
                0..usize::MAX
            } else {
                sees(start + row..start + row + 1)
            };
            // What a row does not take part in leaves every bit of it alone, the sign of a zero too.
            if seen.start < (chunk + 1) * CHUNK && seen.end > chunk * CHUNK && !seen.is_empty() {
                total.merge(self.s, row, part, row);
            }
        }
    }

    /// Goes over the tiles of a chunk, and in each over the KV heads: their keys lie side by side in a page, so that pages are
    /// gone through once.
    ///
    /// # Safety
    /// As for [`super::run_item`]; `keys` lie in one chunk and are seen by some row.
    unsafe fn chunk(
        &self,
        query: &[f32],
        gathered: &mut [f32],
        work: &mut super::unit::Parts<'_>,
        keys: Range<usize>,
    ) {
        if keys.is_empty() {
            return;
        }
        let (args, item) = (self.args, self.item);
        let rows = item.rows.len();
        let find = |tile: usize| {
            let keys = keys.start.max(tile)..keys.end.min(tile + TILE);
            // SAFETY: the keys lie in this tile and inside the sequence.
            unsafe { Found::find(args, item.request, item.kv_heads.start, keys) }
        };
        let mut tile = keys.start / TILE * TILE;
        let mut found = find(tile);
        let mut next_found = None;
        let mut ranges = [[0_u8; 2]; super::unit::MOST_ROWS];
        while tile < keys.end {
            // SAFETY: the caller's contract, passed on.
            unsafe { self.ranges(tile, &mut ranges[..rows]) };
            if tile + TILE < keys.end {
                next_found = Some(find(tile + TILE));
            }
            let unit = Unit {
                s: self.s,
                args,
                ranges: &ranges[..rows],
                heads: item.kv_heads.len(),
                query,
                found: &found,
                next: next_found.as_ref(),
            };
            // SAFETY: the caller's contract, passed on.
            unsafe { unit.run(gathered, work) };
            tile += TILE;
            if let Some(next) = next_found.take() {
                found = next;
            }
        }
    }

    /// First and behind the last place of a tile that each row sees.
    ///
    /// # Safety
    /// As for [`super::run_item`].
    unsafe fn ranges(&self, tile: usize, ranges: &mut [[u8; 2]]) {
        let (args, rows, group) = (self.args, &self.item.rows, self.args.group());
        let sees = |row: usize| {
            // SAFETY: the caller's contract.
            let seen = unsafe { args.seen(self.item.request, &(row..row + 1)) };
            let place = |key: usize| (key.clamp(tile, tile + TILE) - tile) as u8;
            [place(seen.start), place(seen.end)]
        };
        // Both ends ascend.
        let (first, last) = (sees(rows.start), sees(rows.end - 1));
        if first == last {
            ranges.fill(first);
            return;
        }
        let mut row = rows.start;
        while row < rows.end {
            // The heads of one query row see the same.
            let next = rows.end.min((row / group + 1) * group);
            ranges[row - rows.start..next - rows.start].fill(sees(row));
            row = next;
        }
    }

    /// Divides by the sums of the weights and writes the output rows.
    ///
    /// # Safety
    /// As for [`super::run_item`].
    unsafe fn end(&self, parts: &mut Parts) {
        let args = self.args;
        let (rows, (_, dv)) = (self.item.rows.len(), padded::<S>(args));
        for (head, memory) in parts.total.chunks_exact_mut(self.unit()).enumerate() {
            let total = Rows::of(memory, rows, dv);
            for row in 0..rows {
                let sum = total.running(row).sum;
                // A row that saw no key has only zeros; 1/0 would make them NaN.
                let factor = if sum == 0.0 { 0.0 } else { args.v_scale / sum };
                let at = self.place(head, row, &args.out_strides);
                let to = args
                    .out
                    .wrapping_offset(at * args.out_type.bytes() as isize);
                // SAFETY: the row's output is writable by the caller's contract.
                unsafe {
                    encode(
                        self.s,
                        args.out_type,
                        total.out(row).as_ptr(),
                        to,
                        args.value_dim,
                        factor,
                    )
                };
            }
        }
    }
}

//! Attention over a paged cache of keys and values, with prefill and decode mixed in one call.
//!
//! A sequence is cut into chunks of [`CHUNK`] keys and a chunk into tiles of [`TILE`], both counted from its start. `plan.rs` cuts
//! a call into items: some query rows of one request with the query heads that share a KV head, some KV heads, some chunks.
//! `item.rs` walks an item's tiles; `unit.rs` takes one tile into the rows of one KV head: `scores.rs` multiplies queries with keys,
//! `softmax.rs` keeps the running maximum and sum, `values.rs` adds weighted values. Few rows decode keys and values in registers,
//! many share a panel of them (`panel.rs`). `state.rs` holds what rows gather and merges chunks; `pages.rs` finds keys and values
//! through the block table; `kv.rs` decodes them.

mod dots;
mod item;
mod kv;
mod pages;
mod panel;
mod plan;
mod scores;
mod softmax;
mod state;
mod tile;
mod unit;
mod values;

use super::elem::ElemType;
use super::lanes::Simd;
use super::quant::formats::Format;
use super::{Isa, with_isa};
use core::ops::Range;
pub use kv::is_kv;
pub use plan::{Item, Plan};
#[cfg(test)]
pub(super) use softmax::power;

/// Keys in a tile. Tiles begin at multiples of it, counted from the start of the sequence.
const TILE: usize = 64;

/// Keys in a chunk, likewise: what one worker gathers before it is merged with the rest. A multiple of [`TILE`]. Shorter chunks
/// spread a short sequence over more threads; this long, merging is lost beside the work on the keys.
pub const CHUNK: usize = 512;

/// One call. Strides are in elements and may be of any sign and size, of whole blocks where the
/// type has them; along the head dimension elements are adjacent.
#[derive(Clone, Copy, Debug)]
pub struct AttentionArgs {
    /// First element of the queries, `[T, Hq, D]`.
    pub query: *const u8,
    /// Element type of the queries.
    pub query_type: ElemType,
    /// Strides of T and Hq.
    pub query_strides: [i64; 2],
    /// First element of the keys, `[N, P, Hkv, D]`.
    pub k_cache: *const u8,
    /// Element type of the keys.
    pub k_type: Format,
    /// Strides of N, P and Hkv.
    pub k_strides: [i64; 3],
    /// First element of the values, `[N, P, Hkv, Dv]`.
    pub v_cache: *const u8,
    /// Element type of the values.
    pub v_type: Format,
    /// Strides of N, P and Hkv.
    pub v_strides: [i64; 3],
    /// First element of the output, `[T, Hq, Dv]`.
    pub out: *mut u8,
    /// Element type of the output.
    pub out_type: ElemType,
    /// Strides of T and Hq.
    pub out_strides: [i64; 2],
    /// First entry of the block table, `[R, M]`.
    pub block_table: *const i32,
    /// Strides of R and M.
    pub block_table_strides: [i64; 2],
    /// Keys in each request's sequence, `[R]`.
    pub seq_lens: *const i32,
    /// From one length to the next.
    pub seq_lens_stride: i64,
    /// First query row of each request, and the end of the last, `[R + 1]`, ascending.
    pub query_start: *const i32,
    /// From one start to the next.
    pub query_start_stride: i64,
    /// One logit for each query head that joins the softmax without a value, `[Hq]`; null for none.
    pub sinks: *const f32,
    /// From one sink to the next.
    pub sinks_stride: i64,
    /// R
    pub requests: usize,
    /// Hq, a multiple of `kv_heads`.
    pub query_heads: usize,
    /// Hkv
    pub kv_heads: usize,
    /// D
    pub head_dim: usize,
    /// Dv
    pub value_dim: usize,
    /// P, at least 1 where a sequence has keys.
    pub page_size: usize,
    /// Factor of every product of a query and a key, the scale of the keys included.
    pub scale: f32,
    /// Factor of every value.
    pub v_scale: f32,
    /// A query row sees no key behind its own position. The last query row of a request is at the sequence's end.
    pub causal: bool,
    /// A query row sees only keys less than this far from its position; 0 or less for no such limit.
    pub window: i64,
    /// Scores x become c·tanh(x/c); 0 for none.
    pub softcap: f32,
}

// SAFETY: the struct is plain data. Whoever calls `run_item` vouches for the memory on every thread that calls it.
unsafe impl Send for AttentionArgs {}
// SAFETY: as above.
unsafe impl Sync for AttentionArgs {}

impl AttentionArgs {
    /// Query heads that share a KV head.
    fn group(&self) -> usize {
        self.query_heads / self.kv_heads.max(1)
    }

    /// The rows of query and output that belong to a request.
    ///
    /// # Safety
    /// `query_start` is readable at `request` and behind it.
    unsafe fn query_rows(&self, request: usize) -> Range<usize> {
        let at = |i: usize| {
            // SAFETY: the caller's contract; i is `request` or the next.
            let start = unsafe {
                *self
                    .query_start
                    .wrapping_offset(i as isize * self.query_start_stride as isize)
            };
            start.max(0) as usize
        };
        at(request)..at(request + 1)
    }

    /// Keys in a request's sequence.
    ///
    /// # Safety
    /// `seq_lens` is readable at `request`.
    unsafe fn seq_len(&self, request: usize) -> usize {
        // SAFETY: the caller's contract.
        let len = unsafe {
            *self
                .seq_lens
                .wrapping_offset(request as isize * self.seq_lens_stride as isize)
        };
        len.max(0) as usize
    }

    /// The keys that a row at `position` sees in a sequence of `seq_len` keys. Both ends ascend with the position.
    fn visible(&self, position: i64, seq_len: usize) -> Range<usize> {
        let len = seq_len as i64;
        let (mut start, mut end) = (0, if self.causal { position + 1 } else { len });
        if self.window > 0 {
            start = position.saturating_sub(self.window) + 1;
            end = end.min(position.saturating_add(self.window));
        }
        let end = end.clamp(0, len);
        start.clamp(0, end) as usize..end as usize
    }

    /// The keys that some of the rows of an item see: `rows` are query rows of the request with the heads of a group.
    ///
    /// # Safety
    /// `query_start` and `seq_lens` are readable for the request.
    unsafe fn seen(&self, request: usize, rows: &Range<usize>) -> Range<usize> {
        // SAFETY: the caller's contract.
        let (queries, len) = unsafe { (self.query_rows(request).len(), self.seq_len(request)) };
        let at = |row: usize| {
            let position = len as i64 - queries as i64 + (row / self.group()) as i64;
            self.visible(position, len)
        };
        if rows.is_empty() {
            return 0..0;
        }
        // Both ends ascend with the row, and neighbours' ranges overlap or touch.
        let (start, end) = (at(rows.start).start, at(rows.end - 1).end);
        start.min(end)..end
    }
}

/// Cuts the call into items for `threads` threads. Every cut gives the same bits. Requests without query rows have none. Any
/// thread; allocates the lists.
///
/// # Safety
/// `isa` is available on this machine; `query_start` and `seq_lens` are readable.
pub unsafe fn plan(isa: Isa, args: &AttentionArgs, threads: usize) -> Plan {
    // SAFETY: the caller's contract, passed on.
    with_isa!(isa, s => unsafe { plan_on(s, args, |cost| plan::share(cost, threads)) })
}

/// Computes one item: the output of its rows, or their partial results in `partials`. A row that sees no key becomes zeros.
///
/// Threads: any. Different items may run at once, each with its own `scratch` of [`Plan::scratch`] floats, whose contents
/// do not matter, and all with the same `partials`. Neither allocates nor blocks. Reads no block-table entry, key or value behind
/// the sequence's end.
///
/// # Safety
/// `isa` is available on this machine. Operands are readable as their shapes state, aligned to their elements, `out` writable;
/// `query_start` ascends within T; block-table entries inside each sequence are blocks of both caches; nothing writes the
/// inputs and nothing else touches the item's outputs meanwhile, and they do not overlap. `partials` has [`Plan::partials`]
/// writable floats; `item` is of [`Plan::items`], made for these arguments and this `isa`.
///
/// # Panics
/// If `scratch` is too short.
pub unsafe fn run_item(
    isa: Isa,
    args: &AttentionArgs,
    item: &Item,
    scratch: &mut [f32],
    partials: *mut f32,
) {
    // SAFETY: the caller's contract, passed on.
    with_isa!(isa, s => unsafe { run_item_on(s, args, item, scratch, partials) })
}

/// Merges partial results and writes the output of their rows.
///
/// Threads: any, after all of [`Plan::items`] are done; otherwise as [`run_item`].
///
/// # Safety
/// As for [`run_item`]; `item` is of [`Plan::merges`], and all items have run with the same `partials`.
///
/// # Panics
/// If `scratch` is too short.
pub unsafe fn merge_item(
    isa: Isa,
    args: &AttentionArgs,
    item: &Item,
    scratch: &mut [f32],
    partials: *mut f32,
) {
    // SAFETY: the caller's contract, passed on.
    with_isa!(isa, s => unsafe { merge_item_on(s, args, item, scratch, partials) })
}

/// [`plan`] for one token, where an item costs at most what `most` says for a call of that cost.
///
/// # Safety
/// As for [`plan`].
pub(super) unsafe fn plan_on<S: Simd>(
    s: S,
    args: &AttentionArgs,
    most: impl Fn(u64) -> u64,
) -> Plan {
    // SAFETY: the caller's contract, passed on.
    unsafe { plan::plan(s, args, most) }
}

/// [`run_item`] for one token.
///
/// # Safety
/// As for [`run_item`].
pub(super) unsafe fn run_item_on<S: Simd>(
    s: S,
    args: &AttentionArgs,
    item: &Item,
    scratch: &mut [f32],
    partials: *mut f32,
) {
    // SAFETY: the caller's contract, passed on.
    unsafe { item::run(s, args, item, scratch, partials) }
}

/// [`merge_item`] for one token.
///
/// # Safety
/// As for [`merge_item`].
pub(super) unsafe fn merge_item_on<S: Simd>(
    s: S,
    args: &AttentionArgs,
    item: &Item,
    scratch: &mut [f32],
    partials: *mut f32,
) {
    // SAFETY: the caller's contract, passed on.
    unsafe { item::merge(s, args, item, scratch, partials) }
}

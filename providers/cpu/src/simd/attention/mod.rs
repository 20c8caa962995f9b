//! Attention over a paged cache of keys and values, with prefill and decode mixed in one call.
//!
//! Work is cut into items: some query rows of one request and one KV head, with all query heads that share it. An item walks
//! its keys in tiles of [`KEYS`]: `scores.rs` multiplies queries with keys, `softmax.rs` keeps the running maximum and sum,
//! `values.rs` adds weighted values; `pages.rs` finds keys and values through the block table; `item.rs` drives them.

mod item;
mod pages;
mod scores;
mod softmax;
mod values;

use super::elem::ElemType;
use super::lanes::Simd;
use super::{Isa, with_isa};
use core::ops::Range;

/// Keys in a tile. Tiles begin at multiples of it, counted from the start of the sequence.
const KEYS: usize = 64;

/// One call. Strides are in elements and may be of any sign and size; along the head dimension elements are adjacent.
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
    pub k_type: ElemType,
    /// Strides of N, P and Hkv.
    pub k_strides: [i64; 3],
    /// First element of the values, `[N, P, Hkv, Dv]`.
    pub v_cache: *const u8,
    /// Element type of the values.
    pub v_type: ElemType,
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
    /// Factor of every product of a query and a key.
    pub scale: f32,
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

/// A piece of work: some query rows of one request, all query heads of one KV head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The request.
    pub request: usize,
    /// The KV head.
    pub kv_head: usize,
    /// Query rows, counted inside the request.
    pub rows: Range<usize>,
}

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
}

/// A good number of query rows for one item, at least 1: enough (with their heads) to share the decoding of a key tile, few
/// enough to stay in the second-level cache.
pub fn rows_per_item(args: &AttentionArgs) -> usize {
    (64 / args.group().max(1)).max(1)
}

/// Floats of scratch memory that a worker needs for items of at most [`rows_per_item`] rows.
pub fn scratch_len(isa: Isa, args: &AttentionArgs) -> usize {
    with_isa!(isa, s => scratch_len_on(s, args))
}

/// All items of the call: by request, rows, KV head, so that neighbours share nothing that they write. Requests without query
/// rows have none. Any thread; allocates the list.
///
/// # Safety
/// `query_start` is readable.
pub unsafe fn items(args: &AttentionArgs) -> Vec<Item> {
    let step = rows_per_item(args);
    let mut items = Vec::new();
    for request in 0..args.requests {
        // SAFETY: the caller's contract.
        let rows = unsafe { args.query_rows(request) }.len();
        for start in (0..rows).step_by(step) {
            for kv_head in 0..args.kv_heads {
                items.push(Item {
                    request,
                    kv_head,
                    rows: start..rows.min(start + step),
                });
            }
        }
    }
    items
}

/// Computes the output rows of one item. A row that sees no key becomes zeros.
///
/// Threads: any. Different items may run at once, each with its own `scratch` of at least [`scratch_len`] floats, whose contents
/// do not matter. Neither allocates nor blocks. Reads no block-table entry, key or value behind the sequence's end.
///
/// # Safety
/// `isa` is available on this machine. Operands are readable as their shapes state, aligned to their elements, `out` writable;
/// `query_start` ascends within T; block-table entries inside each sequence are blocks of both caches; nothing writes the
/// inputs and nothing else touches the item's outputs meanwhile, and they do not overlap.
///
/// # Panics
/// If the item has more rows than [`rows_per_item`], or `scratch` is too short.
pub unsafe fn run_item(isa: Isa, args: &AttentionArgs, item: &Item, scratch: &mut [f32]) {
    // SAFETY: the caller's contract, passed on.
    with_isa!(isa, s => unsafe { run_item_on(s, args, item, scratch) })
}

/// [`scratch_len`] for one token.
pub(super) fn scratch_len_on<S: Simd>(s: S, args: &AttentionArgs) -> usize {
    item::scratch_len(s, args)
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
) {
    // SAFETY: the caller's contract, passed on.
    unsafe { item::run(s, args, item, scratch) }
}

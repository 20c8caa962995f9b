//! How a call is cut into items.
//!
//! No cut changes a bit of the output (`item.rs`), so it follows speed alone. Rows of a block share what is decoded. An item of
//! few rows takes several KV heads, since their keys lie side by side in a page; and where there are fewer items than threads
//! need, sequences are cut between chunks, whose partial results are merged afterwards.

use super::super::lanes::Simd;
use super::item::{self, padded};
use super::state::rows_len;
use super::unit::MOST_ROWS;
use super::{AttentionArgs, CHUNK, TILE};
use core::ops::Range;

/// Floats that the rows of a block take, at most: they are to stay in the second-level cache beside a tile.
const BLOCK: usize = 128 << 10;
/// Rows of a block that is walked through head by head in each tile, at most.
const FEW_ROWS: usize = 16;
/// Floats of output that the heads of one item gather, at most: they are to stay in the second-level cache beside the tiles.
const GATHERED: usize = 16 << 10;
/// Bytes of a tile's values for the heads of one item, at most: they are brought into the second-level cache before they are used.
const AHEAD: usize = 256 << 10;
/// Items wanted for each thread, so that threads of different speed end together.
const ITEMS_PER_THREAD: u64 = 8;
/// Multiply-adds of an item that is worth being cut off: twenty to forty microseconds.
const LEAST_COST: u64 = 1 << 20;

/// A piece of work: some rows of one request, some KV heads, some chunks of its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The request.
    pub request: usize,
    /// KV heads.
    pub kv_heads: Range<usize>,
    /// Query rows of the request with the query heads of one KV head, heads innermost.
    pub rows: Range<usize>,
    /// Chunks of the sequence.
    pub chunks: Range<usize>,
    /// Where the partial results of the first head and chunk go, in floats; those of the next head follow, and after all KV
    /// heads the next chunk. `None` if the item has all chunks that its rows see and writes their output.
    pub partial: Option<usize>,
}

/// The items of a call, and what has to be merged when all of them are done.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// To be run, in any order and at once.
    pub items: Vec<Item>,
    /// To be merged after that, in any order and at once.
    pub merges: Vec<Item>,
    /// Floats of partial results.
    pub partials: usize,
    /// Floats of scratch memory that a worker needs.
    pub scratch: usize,
    /// Multiply-adds of all items, roughly.
    pub cost: u64,
}

/// Rows of one request that are worked on together, with the chunks that any of them sees.
struct Block {
    request: usize,
    rows: Range<usize>,
    chunks: Range<usize>,
    /// Multiply-adds for one KV head, roughly.
    cost: u64,
}

/// The most that an item is to cost if `threads` threads share a call that costs `cost`.
pub fn share(cost: u64, threads: usize) -> u64 {
    match threads {
        0 | 1 => u64::MAX,
        _ => (cost / (threads as u64 * ITEMS_PER_THREAD)).max(LEAST_COST),
    }
}

/// Cuts a call into items that cost no more than `most` says for a call of that cost, where that can be had.
///
/// # Safety
/// As for [`super::plan`].
pub unsafe fn plan<S: Simd>(s: S, args: &AttentionArgs, most: impl Fn(u64) -> u64) -> Plan {
    // SAFETY: the caller's contract.
    let blocks = unsafe { blocks(args) };
    let mut plan = Plan {
        cost: blocks.iter().map(|b| b.cost * args.kv_heads as u64).sum(),
        ..Plan::default()
    };
    let most = most(plan.cost);
    for block in &blocks {
        plan.add(s, args, block, most);
    }
    for item in plan.items.iter().chain(&plan.merges) {
        plan.scratch = plan.scratch.max(item::scratch_len(s, args, item));
    }
    plan
}

/// Rows in a block: enough to share the decoding of a tile of keys, whole tiles of rows, and whole query rows where the group
/// allows it.
fn block_rows(args: &AttentionArgs) -> usize {
    let group = args.group().max(1);
    let most = (BLOCK / (args.head_dim + 2 * args.value_dim + TILE)).clamp(24, MOST_ROWS);
    let unit = match group % 6 {
        0 => group,
        2 | 4 => group * 3,
        3 => group * 2,
        _ => group * 6,
    };
    match most {
        _ if unit <= most => most / unit * unit,
        _ if group <= most => most / group * group,
        _ => most / 6 * 6,
    }
}

/// # Safety
/// As for [`super::plan`].
unsafe fn blocks(args: &AttentionArgs) -> Vec<Block> {
    let group = args.group();
    let step = block_rows(args);
    let mut blocks = Vec::new();
    for request in 0..args.requests {
        // SAFETY: the caller's contract.
        let (rows, len) = unsafe { (args.query_rows(request).len(), args.seq_len(request)) };
        for start in (0..rows * group).step_by(step.max(1)) {
            let rows = start..(rows * group).min(start + step);
            // SAFETY: as above.
            let keys = unsafe { args.seen(request, &rows) };
            debug_assert!(keys.end <= len);
            blocks.push(Block {
                request,
                chunks: keys.start / CHUNK..keys.end.div_ceil(CHUNK),
                // Keys cost something even if only one row sees them.
                cost: rows.len().max(4) as u64
                    * keys.len() as u64
                    * (args.head_dim + args.value_dim) as u64,
                rows,
            });
        }
    }
    blocks
}

impl Plan {
    /// Adds the items of a block, none of which costs more than `most` where that can be had.
    fn add<S: Simd>(&mut self, _s: S, args: &AttentionArgs, block: &Block, most: u64) {
        let (_, padded) = padded::<S>(args);
        let rows = block.rows.len();
        let chunks = block.chunks.len().max(1);
        let each = block.cost / chunks as u64;
        // Heads that do not lie side by side gain nothing from being walked through together.
        let adjacent = args.k_strides[2].abs() < args.k_strides[1].abs();
        let mut heads = match rows {
            0..=FEW_ROWS if adjacent => (GATHERED / (rows * padded).max(1))
                .min(AHEAD / (TILE * args.v_type.bytes_for(args.value_dim)).max(1))
                .clamp(1, args.kv_heads.max(1)),
            _ => 1,
        };
        while heads > 1 && each * heads as u64 > most {
            heads = heads.div_ceil(2);
        }
        let step = (most / (each * heads as u64).max(1)).clamp(1, chunks as u64) as usize;
        let unit = rows_len(rows, padded);
        let partial = (step < chunks).then_some(self.partials);
        for first in (block.chunks.start..block.chunks.start + chunks).step_by(step) {
            for head in (0..args.kv_heads).step_by(heads) {
                let before = (first - block.chunks.start) * args.kv_heads + head;
                self.items.push(Item {
                    request: block.request,
                    kv_heads: head..args.kv_heads.min(head + heads),
                    rows: block.rows.clone(),
                    chunks: first..block.chunks.end.min(first + step),
                    partial: partial.map(|at| at + before * unit),
                });
            }
        }
        if let Some(at) = partial {
            self.partials += chunks * args.kv_heads * unit;
            for head in 0..args.kv_heads {
                self.merges.push(Item {
                    request: block.request,
                    kv_heads: head..head + 1,
                    rows: block.rows.clone(),
                    chunks: block.chunks.clone(),
                    partial: Some(at + head * unit),
                });
            }
        }
    }
}

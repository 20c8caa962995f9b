//! Numbers of operands and attributes, and the lengths that lie in memory, checked.
//!
//! A kernel that follows a block table reads where the table says, so what the table and the lengths say is held against the
//! operands' extents before anything is computed: a bad entry is the stream's failure with its place, not a read outside.

use overt_sdk::host::{HostView, Job};
use overt_sdk::{Error, Result};

pub const QUERY: usize = 0;
pub const K_CACHE: usize = 1;
pub const V_CACHE: usize = 2;
pub const BLOCK_TABLE: usize = 3;
pub const SEQ_LENS: usize = 4;
pub const QUERY_START: usize = 5;
pub const SINKS: usize = 6;
pub const OUT: usize = 7;

/// Attributes of a call.
#[derive(Clone, Copy)]
pub struct Attrs {
    pub scale: f64,
    pub causal: bool,
    pub window: i64,
    pub softcap: f64,
    pub k_scale: f64,
    pub v_scale: f64,
}

impl Attrs {
    pub fn of(job: &Job<'_>) -> Result<Self> {
        let call = job.call();
        Ok(Self {
            scale: call.attr_f64(0)?,
            causal: call.attr_bool(1)?,
            window: call.attr_i64(2)?,
            softcap: call.attr_f64(3)?,
            // Numbers 4 and 5 are bounds.
            k_scale: call.attr_f64(6)?,
            v_scale: call.attr_f64(7)?,
        })
    }
}

/// One request: its query rows and the length of its sequence.
#[derive(Clone, Copy)]
pub struct Request {
    pub first: i64,
    pub rows: i64,
    pub len: i64,
}

/// The requests of a call, each held against the extents; the block table's entries that a sequence reaches are pages of both caches.
pub fn requests(job: &Job<'_>) -> Result<Vec<Request>> {
    let (lens, start, table) = (
        job.view(SEQ_LENS)?,
        job.view(QUERY_START)?,
        job.view(BLOCK_TABLE)?,
    );
    let (k_cache, v_cache) = (job.view(K_CACHE)?, job.view(V_CACHE)?);
    let tokens = job.view(QUERY)?.shape()[0];
    let pages = k_cache.shape()[0].min(v_cache.shape()[0]);
    let page = k_cache.shape()[1];
    let (count, slots) = (table.shape()[0], table.shape()[1]);
    let at = |view: &HostView<'_>, i: i64| view.load_int(view.at([i]));
    let mut requests = Vec::with_capacity(count as usize);
    for r in 0..count {
        let (first, end, len) = (at(&start, r), at(&start, r + 1), at(&lens, r));
        let rows = end - first;
        if first < 0 || rows < 0 || end > tokens {
            return Err(Error::invalid(format!(
                "operand `query_start` at [{r}]: {first} to {end}; wanted ascending numbers up to {tokens}"
            )));
        }
        // Without query rows nothing of the sequence is read.
        if rows > 0 {
            if len < rows || len > slots.saturating_mul(page) {
                return Err(Error::invalid(format!(
                    "operand `seq_lens` at [{r}]: {len}; wanted {rows} (the request's query rows) to {} (its pages)",
                    slots.saturating_mul(page)
                )));
            }
            for j in 0..(len + page - 1) / page.max(1) {
                let found = table.load_int(table.at([r, j]));
                if !(0..pages).contains(&found) {
                    return Err(Error::invalid(format!(
                        "operand `block_table` at [{r}, {j}]: {found}; wanted a page below {pages}"
                    )));
                }
            }
        }
        requests.push(Request { first, rows, len });
    }
    Ok(requests)
}

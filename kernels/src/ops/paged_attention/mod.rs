//! Attention over a paged cache of keys and values, prefill and decode mixed in one call.
//!
//! # What it computes
//!
//! The call holds R requests. Request `r` has the query rows `query_start[r] .. query_start[r+1]` of `query`, say `q_len` of
//! them, and a sequence of `seq_lens[r]` keys and values, those of its new tokens included, which are already in the cache.
//!
//! * **Positions.** Query `i` of a request (from 0) stands at position `seq_len - q_len + i`. Key `j` stands at position `j`.
//! * **Pages.** `block_table[r][j]` is the page that holds keys `j·P .. (j+1)·P` of request `r`. Entries behind the page of the
//!   last key are never read: they may hold anything, negative numbers included. So may the cache's positions that no sequence
//!   uses. Nothing of either may reach an output, be it NaN.
//! * **Heads.** Query head `h` reads key and value head `h / gqa_ratio`.
//! * **Caches.** Keys and values are the decoded elements of their caches, times `k_scale` and `v_scale`. The two caches may be
//!   of different types. In a block format a head's row is whole blocks, D or Dv being a multiple of 32; the last stride is 1
//!   and the others are whole blocks.
//! * **Logits.** `l = scale · (query · key)`; with `softcap` c above 0, then `l = c · tanh(l / c)`.
//! * **Visible keys.** With `causal`, those at or before the query's position. With `window` w above 0 also those with
//!   `position - w < key`; without `causal`, those with `|position - key| < w`. A window of 0 is none. What is not visible has
//!   no weight at all: masking follows the softcap.
//! * **Sinks.** `sinks[h]` is one more logit of the softmax, neither scaled nor capped, which has no value: it takes weight and
//!   adds nothing.
//! * **Output.** The softmax-weighted sum of visible values. A query that sees no key gives zeros, sink or not.
//!
//! A request without query rows adds nothing and changes no other row. `T = 0` is a success.
//!
//! # Bounds
//!
//! `max_query_len` and `max_seq_len` bound the lengths, which lie in device memory, for the host's choices. They never change
//! a result. Without them the bounds from the shapes hold.
//!
//! # Contents
//!
//! `query_start` begins with 0, never falls and ends with T. `0 ≤ q_len ≤ seq_len ≤ M·P`, and both are within their bounds.
//! Entries of `block_table` up to the last key's page name pages of the cache. `window` and `softcap` are not negative, and
//! `softcap` and all scales are finite. A page may begin anywhere 64 bits reach.

mod contents;
mod cost;
mod fill;
mod geometries;
mod oracle;
mod problem;

use super::support::{output_dtype, unit_roundoff};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance};

/// The schema.
pub const SCHEMA: &str = "\
paged_attention.1(
  query: float[T,Hq,D], k_cache: kv[N,P,Hkv,D], v_cache: kv[N,P,Hkv,Dv],
  block_table: i32[R,M], seq_lens: i32[R], query_start: i32[R+1], sinks?: f32[Hq]) -> out: float[T,Hq,Dv];
  scale: f64, causal: bool = true, window: i64 = 0, softcap: f64 = 0,
  max_query_len: i64 = T, max_seq_len: i64 = M*P, k_scale: f64 = 1, v_scale: f64 = 1;
  where gqa_ratio = Hq / Hkv exact";

/// `paged_attention.1`.
pub static OP: Op = Op {
    name: "paged_attention.1",
    schema: SCHEMA,
    doc: "attention over a paged cache, prefill and decode mixed",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: contents::check,
    float_rules: &[],
    work: cost::work,
    rows: Rows::Requests,
    lengths: &[("query_lens", "R"), ("seq_lens", "R")],
};

fn tolerance(call: &HostCall, output: usize) -> Tolerance {
    let dtype = output_dtype(call, output);
    Tolerance {
        absolute: 2f64.powi(-13),
        relative: 1.01 * unit_roundoff(dtype) + 2f64.powi(-16),
        floor: Tolerance::floor_of(dtype),
        reason: "one rounding to the output type (2^-24 f32, 2^-11 f16, 2^-8 bf16); a logit is a sum of up to 576 products in \
                 f32, whose partial sums stay within 64 and round by 2^-19 each at most, about 2^-19·sqrt(576)/4 = 2^-16 together, \
                 which the exponential turns into a relative change of each weight; weights and values sum in f32 likewise. \
                 2^-13 of the row's root mean square leaves a factor of eight. A key lost from 512 equal ones is 2^-9",
    }
}

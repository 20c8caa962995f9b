//! Writes new keys and values into the paged cache, rounding them to the cache's types.
//!
//! Token `t` goes to slot `slots[t]`, which is page `slot / P` at position `slot % P`: for every head `h`,
//! `k_cache[slot / P, slot % P, h, :] = key[t, h, :] / k_scale`, and the same for values. A negative slot skips the token: padding
//! of a batch. All other elements of the caches keep their bits.
//!
//! Types of 16 bits and more take the nearest number, 8-bit floats too, and what lies beyond their largest becomes the largest.
//! In a block format each row of D (or Dv) elements is quantised in blocks of its own, with scales from its own values, so that
//! each stored value is within half a step of its block, the scale's own rounding aside. How codes are chosen is the kernel's.
//!
//! Contents: a slot is negative or below `N·P`, and no two tokens have one slot, since their order would decide. The scales are
//! finite and not 0.
//!
//! The op has no output of its own; the caches are `inout`. A page may begin anywhere 64 bits reach.

mod contents;
mod fill;
mod geometries;
mod oracle;
mod rounding;

pub use rounding::storing;

use super::support::{bytes, operand_bytes, output_dtype, symbol};
use crate::host::HostCall;
use crate::op::{Op, Rows, Work};

/// The schema.
pub const SCHEMA: &str = "\
reshape_and_cache.1(
  key: float[T,Hkv,D], value: float[T,Hkv,Dv], slots: i64[T],
  inout k_cache: kv[N,P,Hkv,D], inout v_cache: kv[N,P,Hkv,Dv]);
  k_scale: f64 = 1, v_scale: f64 = 1";

/// `reshape_and_cache.1`.
pub static OP: Op = Op {
    name: "reshape_and_cache.1",
    schema: SCHEMA,
    doc: "writes keys and values of new tokens into the paged cache",
    oracle: oracle::oracle,
    tolerance: |call, output| storing(output_dtype(call, output)),
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: contents::check,
    float_rules: &[],
    work,
    rows: Rows::Dependent,
    lengths: &[],
};

/// Tokens that are skipped cost nothing but their slot.
fn work(call: &HostCall) -> Work {
    let written = call
        .operand("slots")
        .and_then(|slots| slots.to_i64().ok())
        .map_or(0, |slots| slots.iter().filter(|&&s| s >= 0).count() as u64);
    let heads = symbol(call, "Hkv") as u64;
    let moved: f64 = [("key", "k_cache", "D"), ("value", "v_cache", "Dv")]
        .into_iter()
        .map(|(from, to, width)| {
            let elements = written * heads * symbol(call, width) as u64;
            let of = |name| call.operand(name).map_or(0.0, |t| bytes(t.dtype, elements));
            of(from) + of(to)
        })
        .sum();
    Work {
        bytes: moved + operand_bytes(call, "slots"),
        flops: 0.0,
    }
}

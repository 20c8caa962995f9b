//! Writes new keys and values into the paged cache, rounding them to the cache's types.
//!
//! Token `t` goes to slot `slots[t]`, which is page `slot / P` at position `slot % P`: for every head `h`,
//! `k_cache[slot / P, slot % P, h, :] = key[t, h, :]`, and the same for values. A negative slot skips the token: padding of a
//! batch. All other elements of the caches keep their bits.
//!
//! Contents: a slot is negative or below `N·P`, and no two tokens have one slot, since their order would decide.
//!
//! The op has no output of its own; the caches are `inout`. A page may begin anywhere 64 bits reach.

mod contents;
mod fill;
mod geometries;
mod oracle;

use super::support::{bytes, operand_bytes, output_dtype, symbol, unit_roundoff};
use crate::host::HostCall;
use crate::op::{Op, Rows, Tolerance, Work};

/// The schema.
pub const SCHEMA: &str = "\
reshape_and_cache.1(
  key: float[T,Hkv,D], value: float[T,Hkv,Dv], slots: i64[T],
  inout k_cache: kv[N,P,Hkv,D], inout v_cache: kv[N,P,Hkv,Dv])";

/// `reshape_and_cache.1`.
pub static OP: Op = Op {
    name: "reshape_and_cache.1",
    schema: SCHEMA,
    doc: "writes keys and values of new tokens into the paged cache",
    oracle: oracle::oracle,
    tolerance,
    geometries: geometries::geometries,
    fill: fill::fill,
    check_contents: contents::check,
    work,
    rows: Rows::Dependent,
    lengths: &[],
};

fn tolerance(call: &HostCall, output: usize) -> Tolerance {
    let dtype = output_dtype(call, output);
    Tolerance {
        absolute: 0.0,
        relative: unit_roundoff(dtype),
        floor: Tolerance::floor_of(dtype),
        reason: "the one rounding to the cache's type (2^-24 f32, 2^-11 f16, 2^-8 bf16), and nothing else",
    }
}

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

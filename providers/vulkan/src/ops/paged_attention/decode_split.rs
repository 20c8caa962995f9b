//! Decode: one query row a request, whose keys are cut into parts so that few and long sequences fill the device too.
//!
//! The first launch leaves the softmax of each part in the workspace; the second joins them. How a sequence is cut hangs on its own length
//! alone: into tiles of a fixed number of keys, and where these are more than the most parts, into parts of several tiles. So a row's bits
//! do not depend on its batch.

use super::problem::{
    BLOCK_TABLE, Call, K_CACHE, OUT, QUERY, QUERY_START, SEQ_LENS, SINKS, V_CACHE, needs, unit,
};
use crate::kernel::{Dispatch, Problem, VulkanKernel, dtype_code};
use crate::shaders::{
    PAGED_ATTENTION_DECODE_MERGE as MERGE, PAGED_ATTENTION_DECODE_SPLIT as SPLIT,
};
use overt_kernels::ops::paged_attention::OP;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::{Error, Result};

overt_sdk::knob! {
    id: "vulkan.paged_attention.tile_keys",
    default: 512,
    doc: "keys that a block of decode attention takes at once, at most: fewer where it has more than 4 heads; a sequence is cut at multiples of it",
    range: 32..=512,
}

overt_sdk::knob! {
    id: "vulkan.paged_attention.most_parts",
    default: 128,
    doc: "blocks that share the keys of one sequence and key head in decode attention, at most; bounds the workspace",
    range: 1..=256,
}

overt_sdk::kernel! {
    id: "vulkan/paged_attention/decode_split",
    op: &OP,
    tier: Tuned,
    priority: 20,
    doc: "one query row a request: keys cut into parts over blocks, heads of a group share each load, a second launch joins the parts",
    handles: ["causal", "window", "softcap", "sinks", "k_scale", "v_scale"],
    images: [SPLIT.image.id, MERGE.image.id],
    entries: [SPLIT.symbol, MERGE.symbol],
    knobs: ["vulkan.paged_attention.tile_keys", "vulkan.paged_attention.most_parts"],
    needs: needs(),
    needs: decode_needs(),
    numeric_class: "vulkan.paged_attention.decode_split",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&SPLIT, &MERGE]).workspace(workspace);

/// Invocations of a block, as both shaders have it.
const BLOCK: u32 = 128;
/// Bytes that an invocation loads at once.
const CHUNK: i64 = 16;
/// Elements of value sums that an invocation holds at most, over all heads: these are registers.
const SUMS: i64 = 64;
/// Shared memory of a block at most, bytes.
const SHARED: u32 = 32_768;
/// Scores of a tile at most, over all heads of a block: 8 KiB, since more cost blocks that hide each other's waits. On an H200 with 8 heads of
/// 128 in bf16, tiles of 256 keys took 723 µs where those of 512 took 885.
const SCORES: i64 = 2048;
/// Keys that four invocations take at once, and chunks of each that one has in flight: best of seven tried on an H200.
const KEYS: [u32; 2] = [2, 2];
/// Values that an invocation has in flight, and the same of types whose decoding takes registers (on an H200 in f16 at 32 x 4096 keys, 4 heads
/// of 128: 200 µs with 4, 231 with 8; in bf16 200 and 191).
const VALUES: [u32; 2] = [8, 4];
/// Two f16 of 2^-24, by which the shader sees whether the device keeps denormals where it converts.
const LEAST_HALVES: u32 = 0x0001_0001;

fn decode_needs() -> Vec<Clause> {
    let mut needs = vec![
        fact("attr.max_query_len")
            .at_most(1)
            .source("a block takes one query row of a request"),
        fact("D")
            .multiple_of(CHUNK)
            .source("a row of any of the types is whole chunks of 16 bytes"),
        fact("D").at_least(CHUNK).source("a row has a chunk"),
        fact("D")
            .at_most(2048)
            .source("a query head lies in 8 KiB of shared memory"),
        fact("Dv")
            .multiple_of(CHUNK)
            .source("a row of any of the types is whole chunks of 16 bytes"),
        fact("Dv")
            .at_most(512)
            .source("a chunk of f32 values for each of 128 invocations"),
        fact("device.subgroup.shuffle")
            .is(true)
            .source("four invocations share a key"),
        fact("device.subgroup.arithmetic")
            .is(true)
            .source("sums over a block"),
        fact("device.subgroup.least")
            .at_least(4)
            .source("four invocations share a key"),
        fact("device.limit.shared_bytes")
            .at_least(i64::from(SHARED))
            .source("query heads, pages, and the scores of a tile"),
    ];
    for cache in ["k_cache", "v_cache"] {
        needs.push(
            fact(format!("{cache}.dtype"))
                .is_in([F32, F16, BF16, FP8_E4M3FN, FP8_E5M2])
                .source("types whose elements stand alone"),
        );
        needs.push(
            fact(format!("{cache}.align"))
                .at_least(CHUNK)
                .source("loads of 16 bytes"),
        );
    }
    needs
}

/// A call, and how it is cut.
struct Cut {
    call: Call,
    /// Query heads of a block.
    heads: i64,
    tile: i64,
    most_parts: i64,
    /// Parts that there is room for.
    parts: i64,
}

impl Cut {
    fn of(problem: &Problem<'_>) -> Result<Option<Cut>> {
        let Some(call) = Call::of(problem.call)? else {
            return Ok(None);
        };
        let (tile, most_parts) = (problem.call.knob_i64(0)?, problem.call.knob_i64(1)?);
        let (_, bytes) = unit(call.types.values)?;
        // Several blocks share the heads of a group evenly.
        let ratio = i64::from(call.ratio).max(1);
        let even = |most: i64| ceil(ratio, ceil(ratio, most));
        let mut cut = Cut {
            heads: even((SUMS * bytes / CHUNK).clamp(1, 8)),
            tile,
            most_parts,
            parts: 1,
            call,
        };
        cut.tile = tile.min(SCORES / cut.heads);
        while cut.heads > 1 && shared_bytes(&cut)? > SHARED {
            cut.heads = even(cut.heads - 1);
        }
        cut.parts = ceil(cut.call.longest, cut.tile).clamp(1, most_parts);
        Ok(Some(cut))
    }

    /// Parts of all heads of all requests.
    fn entries(&self) -> Result<i64> {
        let entries = self.call.requests * self.call.heads * self.parts;
        match entries < 1 << 31 {
            true => Ok(entries),
            false => Err(Error::unsupported(format!(
                "{entries} parts of sequences; shaders count them in 31 bits: lower `vulkan.paged_attention.most_parts`"
            ))),
        }
    }

    fn sum_bytes(&self) -> Result<u64> {
        Ok(4 * self.entries()? as u64 * u64::from(self.call.value_width))
    }
}

fn ceil(count: i64, of: i64) -> i64 {
    count.div_euclid(of) + i64::from(count.rem_euclid(of) > 0)
}

/// For each part of each head of each request: a sum of values, a logit and a sum.
fn workspace(problem: &Problem<'_>) -> Result<u64> {
    match Cut::of(problem)? {
        Some(cut) => Ok(cut.sum_bytes()? + 8 * cut.entries()? as u64),
        None => Ok(0),
    }
}

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let Some(cut) = Cut::of(problem)? else {
        return Ok(Vec::new());
    };
    Ok(vec![split(problem, &cut)?, merge(problem, &cut)?])
}

fn split(problem: &Problem<'_>, cut: &Cut) -> Result<Dispatch> {
    let call = &cut.call;
    let [query, keys, values, _] = call.types.codes()?;
    let aligned = |strides: &[u32; 6]| {
        u32::from(
            [0, 2, 4]
                .iter()
                .all(|i| strides[*i].is_multiple_of(CHUNK as u32)),
        )
    };
    let mut constants = vec![
        query,
        keys,
        values,
        call.width,
        call.value_width,
        call.page,
        call.ratio,
        cut.heads as u32,
        u32::from(call.causal),
        cut.tile as u32,
        aligned(&call.k_strides),
        aligned(&call.v_strides),
    ];
    constants.extend(call.k_strides);
    constants.extend(call.v_strides);
    constants.extend(KEYS);
    constants.push(match call.types.values {
        F32 | BF16 => VALUES[0],
        _ => VALUES[1],
    });
    let tiles = ceil(i64::from(call.ratio), cut.heads);
    Dispatch::new(&SPLIT, BLOCK)
        .constants(&constants)
        .shared(shared_bytes(cut)?)
        .operand(QUERY)
        .operand(K_CACHE)
        .operand(V_CACHE)
        .operand(BLOCK_TABLE)
        .operand(SEQ_LENS)
        .operand(QUERY_START)
        .workspace(0)
        .workspace(cut.sum_bytes()?)
        .u32(call.requests as u32)
        .u32(call.heads as u32)
        .u32(cut.parts as u32)
        .u32(cut.most_parts as u32)
        .u32(call.table[0])
        .u32(call.table[1])
        .u32(call.query[0])
        .u32(call.query[1])
        .f32(call.scale)
        .f32(call.softcap)
        .i32(call.window)
        .u32(LEAST_HALVES)
        .blocks(
            call.requests * cut.parts * call.cache_heads * tiles,
            problem.limits.groups,
        )
}

/// Query heads; scores, or sums of one head by set where these are more; pages; what reductions need.
fn shared_bytes(cut: &Cut) -> Result<u32> {
    let (_, bytes) = unit(cut.call.types.values)?;
    let width = i64::from(cut.call.value_width);
    let sets = i64::from(BLOCK).div_euclid((width * bytes).div_euclid(CHUNK).max(1));
    let words = cut.heads * i64::from(cut.call.width)
        + (cut.tile * cut.heads).max(sets * width)
        + 4 * (cut.tile.div_euclid(i64::from(cut.call.page)) + 2)
        + i64::from(BLOCK)
        + cut.heads;
    Ok(4 * words as u32)
}

fn merge(problem: &Problem<'_>, cut: &Cut) -> Result<Dispatch> {
    let call = &cut.call;
    Dispatch::new(&MERGE, BLOCK)
        .constants(&[
            dtype_code(call.types.out)?,
            call.value_width,
            u32::from(call.causal),
            cut.tile as u32,
        ])
        // Weights of 256 parts, sums by set, the result, and what reductions need.
        .shared(4 * 256 + 16 * BLOCK + 4 * (call.value_width + 4) + 1024)
        .workspace(0)
        .workspace(cut.sum_bytes()?)
        .operand(SEQ_LENS)
        .operand(QUERY_START)
        .operand(SINKS)
        .operand(OUT)
        .u32(call.requests as u32)
        .u32(call.heads as u32)
        .u32(cut.parts as u32)
        .u32(cut.most_parts as u32)
        .u32(call.to[0])
        .u32(call.to[1])
        .f32(call.value_scale)
        .i32(call.window)
        .blocks(call.requests * call.heads, problem.limits.groups)
}

//! Any types of keys, values and caches: eight neighbours or a block of codes an invocation. Pages may begin anywhere that 64 bits reach.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses, dtype_code, offsets};
use crate::ops::{rows, weights};
use crate::shaders::RESHAPE_AND_CACHE;
use overt_kernels::dtype::block;
use overt_kernels::ops::reshape_and_cache::OP;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::{Error, Result};

overt_sdk::kernel! {
    id: "vulkan/reshape_and_cache/portable",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "eight neighbours or a block of codes an invocation; a slot outside the cache is skipped",
    handles: ["k_scale", "v_scale"],
    images: [RESHAPE_AND_CACHE.image.id],
    entries: [RESHAPE_AND_CACHE.symbol],
    needs: clauses(&["key", "value"]),
    needs: needs(),
    numeric_class: "vulkan.reshape_and_cache",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: &BODY,
}

static BODY: VulkanKernel = VulkanKernel::new(plan, &[&RESHAPE_AND_CACHE]);

fn needs() -> Vec<Clause> {
    let mut all = Vec::new();
    for operand in ["slots", "k_cache", "v_cache"] {
        let align = fact(format!("{operand}.align"));
        all.push(align.at_least(4).source("shaders use words"));
    }
    for operand in ["k_cache", "v_cache"] {
        let contiguous = fact(format!("{operand}.inner_contiguous"));
        all.push(
            contiguous
                .is(true)
                .source("bytes of a head follow each other"),
        );
    }
    for symbol in ["N", "P"] {
        let below = fact(symbol).below(1_i64 << 31);
        all.push(below.source("pages and positions are numbered in 31 bits"));
    }
    // A slot is two words.
    let slots = fact("slots.max_offset").below(1_i64 << 30);
    all.push(slots.source("shaders count words in 32 bits"));
    all
}

/// Elements that an invocation takes of a type.
fn unit(dtype: overt_abi::OvertDType) -> Result<u32> {
    match block(dtype) {
        Some(block) if block.elements > 1 => Ok(block.elements as u32),
        Some(_) => Ok(8),
        None => Err(Error::unsupported("a cache of an unknown type")),
    }
}

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (key, value, slots) = (call.operand(0)?, call.operand(1)?, call.operand(2)?);
    let (k_cache, v_cache) = (call.operand(3)?, call.operand(4)?);
    let (rows, heads) = (key.dim(0)?, key.dim(1)?);
    let (width_key, width_value) = (key.dim(2)?, value.dim(2)?);
    let units = rows::blocks(width_key, unit(k_cache.dtype())?)
        + rows::blocks(width_value, unit(v_cache.dtype())?);
    if rows * heads * units == 0 {
        return Ok(Vec::new());
    }
    let mut constants = Vec::new();
    for tensor in [&key, &value, &k_cache, &v_cache] {
        constants.push(dtype_code(tensor.dtype())?);
    }
    constants.extend([heads as u32, width_key as u32, width_value as u32]);
    for scale in 0..2 {
        let inverse = 1.0 / call.attr_f64(scale)?;
        let nearest = inverse as f32;
        let rest = if nearest.is_finite() {
            inverse - f64::from(nearest)
        } else {
            0.0
        };
        constants.extend([nearest.to_bits(), (rest as f32).to_bits()]);
    }
    let mut dispatch = Dispatch::new(&RESHAPE_AND_CACHE, rows::BLOCK).constants(&constants);
    for operand in 0..5 {
        dispatch = dispatch.operand(operand);
    }
    for cache in [&k_cache, &v_cache] {
        // From page to page, position to position, head to head.
        for dimension in 0..3 {
            dispatch = weights::long(dispatch, weights::stride_bytes(cache, dimension)?);
        }
    }
    let (key, value) = (offsets(&key)?, offsets(&value)?);
    let dispatch = dispatch
        .u32(rows as u32)
        .u32(k_cache.dim(0)? as u32)
        .u32(k_cache.dim(1)? as u32)
        .u32(key[0])
        .u32(key[1])
        .u32(value[0])
        .u32(value[1])
        .u32(offsets(&slots)?[0])
        .blocks(
            rows::blocks(rows * heads * units, rows::BLOCK),
            problem.limits.groups,
        )?;
    Ok(vec![dispatch])
}

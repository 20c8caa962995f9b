//! Any types of keys, values and caches: eight neighbours or a block of codes an invocation. Pages may begin anywhere that 64 bits reach.
//! One launch where keys and values are of one shape and type, otherwise one for each.

use crate::kernel::{Dispatch, Problem, VulkanKernel, clauses, dtype_code, offsets};
use crate::ops::{rows, weights};
use crate::shaders::RESHAPE_AND_CACHE;
use overt_kernels::dtype::block;
use overt_kernels::ops::reshape_and_cache::OP;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::{CallView, Error, Result, TensorView};

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

/// Keys or values of a call.
struct Side<'a> {
    /// The number of the source; the cache's is three more, the scale's is the same.
    number: usize,
    source: TensorView<'a>,
    cache: TensorView<'a>,
}

impl<'a> Side<'a> {
    fn of(call: &CallView<'a>, number: usize) -> Result<Side<'a>> {
        Ok(Side {
            number,
            source: call.operand(number)?,
            cache: call.operand(number + 3)?,
        })
    }

    fn constants(&self) -> Result<[u32; 2]> {
        Ok([
            dtype_code(self.source.dtype())?,
            dtype_code(self.cache.dtype())?,
        ])
    }

    /// Bytes of the cache from page to page, position to position and head to head.
    fn strides(&self) -> Result<[u64; 3]> {
        let bytes = |dimension| weights::stride_bytes(&self.cache, dimension);
        Ok([bytes(0)?, bytes(1)?, bytes(2)?])
    }

    fn width(&self) -> Result<i64> {
        self.source.dim(2)
    }

    /// 1 over the scale: its nearest f32, and what that leaves.
    fn inverse(&self, call: &CallView<'_>) -> Result<[f64; 2]> {
        let inverse = 1.0 / call.attr_f64(self.number)?;
        let nearest = f64::from(inverse as f32);
        let rest = if nearest.is_finite() {
            inverse - nearest
        } else {
            0.0
        };
        Ok([nearest, rest])
    }
}

fn plan(problem: &Problem<'_>) -> Result<Vec<Dispatch>> {
    let call = problem.call;
    let (keys, values) = (Side::of(call, 0)?, Side::of(call, 1)?);
    let alike = keys.constants()? == values.constants()?
        && keys.strides()? == values.strides()?
        && keys.width()? == values.width()?;
    let pair = match alike {
        true => vec![[&keys, &values]],
        false => vec![[&keys, &keys], [&values, &values]],
    };
    let mut launches = Vec::new();
    for sides in pair {
        launches.extend(launch(problem, sides, if alike { 2 } else { 1 })?);
    }
    Ok(launches)
}

/// The launch for sides that are alike, of which it takes so many.
fn launch(problem: &Problem<'_>, sides: [&Side<'_>; 2], depth: u32) -> Result<Option<Dispatch>> {
    let call = problem.call;
    let slots = call.operand(2)?;
    let (source, cache) = (&sides[0].source, &sides[0].cache);
    let (rows, heads, width) = (source.dim(0)?, source.dim(1)?, source.dim(2)?);
    let invocations = rows * heads * rows::blocks(width, unit(cache.dtype())?);
    if invocations == 0 {
        return Ok(None);
    }
    let mut dispatch =
        Dispatch::new(&RESHAPE_AND_CACHE, rows::BLOCK).constants(&sides[0].constants()?);
    for side in sides {
        dispatch = dispatch.operand(side.number);
    }
    for side in sides {
        dispatch = dispatch.operand(side.number + 3);
    }
    dispatch = dispatch.operand(2);
    for bytes in sides[0].strides()? {
        dispatch = weights::long(dispatch, bytes);
    }
    dispatch = dispatch
        .u32(rows as u32)
        .u32(heads as u32)
        .u32(width as u32)
        .u32(cache.dim(0)? as u32)
        .u32(cache.dim(1)? as u32)
        .u32(offsets(&slots)?[0]);
    for dimension in 0..2 {
        for side in sides {
            dispatch = dispatch.u32(offsets(&side.source)?[dimension]);
        }
    }
    for part in 0..2 {
        for side in sides {
            dispatch = dispatch.f32(side.inverse(call)?[part]);
        }
    }
    let blocks = rows::blocks(invocations, rows::BLOCK);
    let mut dispatch = dispatch.blocks(blocks, problem.limits.groups)?;
    dispatch.groups[2] = depth;
    Ok(Some(dispatch))
}

//! What the vector kernels of attention share: their clauses, their launch, and the way from a call to the bodies.

use super::problem;
use overt_sdk::Result;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::host::{Body, Launch};

/// Clauses besides the instructions.
pub fn needs() -> Vec<Clause> {
    let mut clauses = Vec::new();
    for operand in ["query", "k_cache", "v_cache", "out"] {
        clauses.push(
            fact(format!("{operand}.dtype"))
                .is_in([F32, F16, BF16])
                .source("what the bodies decode"),
        );
        clauses.push(
            fact(format!("{operand}.inner_contiguous"))
                .is(true)
                .source("vectors are loaded along a head"),
        );
    }
    clauses
}

/// Enqueues the body over query rows and KV heads.
pub fn launch(launch: &mut Launch<'_>, body: &'static Body) -> Result<()> {
    let call = launch.call();
    let rows = call.operand(problem::QUERY)?.dim(0)?;
    let heads = call.operand(problem::K_CACHE)?.dim(2)?;
    launch.run(body, [rows as u32, heads as u32, 1])
}

#[cfg(target_arch = "x86_64")]
pub use x86::run;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::problem::{
        self, Attrs, BLOCK_TABLE, K_CACHE, OUT, QUERY, QUERY_START, SEQ_LENS, SINKS, V_CACHE,
    };
    use crate::pool::Pool;
    use crate::simd::Isa;
    use crate::simd::attention::{AttentionArgs, items, run_item, scratch_len};
    use crate::vectors::{aligned, available, elements, elements_mut, with_scratch};
    use overt_sdk::host::Job;
    use overt_sdk::{Result, TensorView};

    fn strides<const N: usize>(view: &TensorView<'_>) -> Result<[i64; N]> {
        let mut strides = [0; N];
        for (i, stride) in strides.iter_mut().enumerate() {
            *stride = view.stride(i)?;
        }
        Ok(strides)
    }

    /// A table of 32-bit integers or floats.
    fn table<T: overt_sdk::dtypes::Element>(
        view: &TensorView<'_>,
        operand: usize,
    ) -> Result<*const T> {
        aligned(view, operand, size_of::<T>() as u64)?;
        view.as_ptr()
    }

    /// The job's attention with the instructions of `isa`.
    pub fn run(job: &Job<'_>, isa: Isa) -> Result<()> {
        available(isa)?;
        let requests = problem::requests(job)?;
        let call = job.call();
        let attrs = Attrs::of(job)?;
        let (query, k, v) = (
            call.operand(QUERY)?,
            call.operand(K_CACHE)?,
            call.operand(V_CACHE)?,
        );
        let (blocks, lens) = (call.operand(BLOCK_TABLE)?, call.operand(SEQ_LENS)?);
        let (start, out) = (call.operand(QUERY_START)?, call.operand(OUT)?);
        let sinks = call.optional(SINKS)?;
        let ((query_at, query_type), (k_at, k_type)) =
            (elements(&query, QUERY)?, elements(&k, K_CACHE)?);
        let ((v_at, v_type), (out_at, out_type)) =
            (elements(&v, V_CACHE)?, elements_mut(&out, OUT)?);
        let args = AttentionArgs {
            query: query_at,
            query_type,
            query_strides: strides(&query)?,
            k_cache: k_at,
            k_type,
            k_strides: strides(&k)?,
            v_cache: v_at,
            v_type,
            v_strides: strides(&v)?,
            out: out_at,
            out_type,
            out_strides: strides(&out)?,
            block_table: table(&blocks, BLOCK_TABLE)?,
            block_table_strides: strides(&blocks)?,
            seq_lens: table(&lens, SEQ_LENS)?,
            seq_lens_stride: lens.stride(0)?,
            query_start: table(&start, QUERY_START)?,
            query_start_stride: start.stride(0)?,
            sinks: sinks.map_or(Ok(std::ptr::null()), |s| table(&s, SINKS))?,
            sinks_stride: sinks.map_or(Ok(0), |s| s.stride(0))?,
            requests: blocks.dim(0)? as usize,
            query_heads: query.dim(1)? as usize,
            kv_heads: k.dim(2)? as usize,
            head_dim: query.dim(2)? as usize,
            value_dim: v.dim(3)? as usize,
            page_size: k.dim(1)? as usize,
            scale: attrs.scale as f32,
            causal: attrs.causal,
            window: attrs.window,
            softcap: attrs.softcap as f32,
        };
        let scratch = scratch_len(isa, &args);
        // SAFETY: `problem::requests` has held `query_start` against its extent.
        let items = unsafe { items(&args) };
        let keys: i64 = requests.iter().map(|r| r.rows.min(1) * r.len).sum();
        let each = keys as u64 / requests.len().max(1) as u64;
        let steps = each.saturating_mul((args.head_dim + args.value_dim) as u64);
        job.context::<Pool>()?.ranges(items.len(), steps, |range| {
            with_scratch(scratch, |scratch| {
                for item in &items[range] {
                    // SAFETY: `isa` was found on this machine. Operands were resolved from live allocations, bounds-checked and
                    // aligned, and heads are contiguous by the guard; lengths and block-table entries were held against
                    // the extents above. Items write disjoint rows of the output, which overlaps no input by the op's schema.
                    // The stream orders other work on this memory.
                    unsafe { run_item(isa, &args, item, scratch) }
                }
            });
        });
        Ok(())
    }
}

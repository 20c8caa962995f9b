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
        let dtype = fact(format!("{operand}.dtype"));
        clauses.push(match operand {
            "k_cache" | "v_cache" => dtype
                .is_in([F32, F16, BF16, FP8_E4M3FN, FP8_E5M2, Q8_0, Q4_0, Q5_0, Q5_1])
                .source("what the bodies decode"),
            _ => dtype
                .is_in([F32, F16, BF16])
                .source("what the bodies read and write"),
        });
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
    use crate::simd::attention::{AttentionArgs, Item, Plan, is_kv, merge_item, plan, run_item};
    use crate::simd::quant::formats::Format;
    use crate::vectors::{aligned, available, elements, elements_mut, stored, with_scratch};
    use overt_sdk::host::Job;
    use overt_sdk::{Error, Result, TensorView};
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicUsize, Ordering};

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
        problem::requests(job)?;
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
        let (query_at, query_type) = elements(&query, QUERY)?;
        let (out_at, out_type) = elements_mut(&out, OUT)?;
        let (k_at, k_type) = cache(&k, K_CACHE)?;
        let (v_at, v_type) = cache(&v, V_CACHE)?;
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
            scale: (attrs.scale * attrs.k_scale) as f32,
            v_scale: attrs.v_scale as f32,
            causal: attrs.causal,
            window: attrs.window,
            softcap: attrs.softcap as f32,
        };
        let pool = job.context::<Pool>()?;
        // SAFETY: `isa` was found on this machine; `problem::requests` has held the lengths against their extents.
        let plan = unsafe { plan(isa, &args, pool.threads()) };
        with_partials(plan.partials, |partials| {
            let partials = Partials(partials.as_mut_ptr());
            share(pool, &plan, &plan.items, plan.cost, |item, scratch| {
                // SAFETY: `isa` was found on this machine. Operands were resolved from live allocations, bounds-checked and
                // aligned, and heads are contiguous by the guard; lengths and block-table entries were held against the
                // extents above. Items write disjoint rows of the output, which overlaps no input by the op's schema, and
                // disjoint parts of the partial results. The stream orders other work on this memory.
                unsafe { run_item(isa, &args, item, scratch, partials.at()) }
            });
            let merged = plan.partials as u64;
            share(pool, &plan, &plan.merges, merged, |item, scratch| {
                // SAFETY: as above; all items are done.
                unsafe { merge_item(isa, &args, item, scratch, partials.at()) }
            });
        });
        Ok(())
    }

    /// Address and storage of a cache.
    fn cache(view: &TensorView<'_>, operand: usize) -> Result<(*const u8, Format)> {
        let (at, format) = stored(view, operand)?;
        if is_kv(format) {
            return Ok((at, format));
        }
        Err(Error::launch(format!(
            "operand {operand} is {format:?}, which is no type of a cache"
        )))
    }

    /// Runs `f` for every item, each worker taking the next as it is done with one: items differ, and so do threads.
    fn share(
        pool: &Pool,
        plan: &Plan,
        items: &[Item],
        cost: u64,
        f: impl Fn(&Item, &mut [f32]) + Sync,
    ) {
        let next = AtomicUsize::new(0);
        let workers = pool.threads().min(items.len());
        pool.ranges(workers, cost / workers.max(1) as u64, |_| {
            with_scratch(plan.scratch, |scratch| {
                // The counter orders nothing but itself; the pool orders the items' results.
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    f(item, scratch);
                }
            });
        });
    }

    /// Where partial results lie.
    struct Partials(*mut f32);

    // SAFETY: workers write disjoint parts, and read them only after all are done.
    unsafe impl Sync for Partials {}

    impl Partials {
        fn at(&self) -> *mut f32 {
            self.0
        }
    }

    /// Runs `f` with `len` numbers that the stream's thread keeps, whose contents do not matter.
    fn with_partials(len: usize, f: impl FnOnce(&mut [f32])) {
        thread_local! {
            static PARTIALS: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
        }
        PARTIALS.with_borrow_mut(|partials| {
            if partials.len() < len {
                partials.resize(len, 0.0);
            }
            f(&mut partials[..len]);
        });
    }
}

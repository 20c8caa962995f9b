//! What the vector kernels of the copies share.

use overt_sdk::Result;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::host::{Body, Launch};

/// Clauses besides the instructions.
pub fn needs() -> Vec<Clause> {
    let mut clauses = Vec::new();
    for operand in ["key", "value", "k_cache", "v_cache"] {
        clauses.push(
            fact(format!("{operand}.inner_contiguous"))
                .is(true)
                .source("vectors go along a head"),
        );
    }
    for operand in ["k_cache", "v_cache"] {
        clauses.push(
            fact(format!("{operand}.dtype"))
                .is_in([F32, F16, BF16])
                .source("what the bodies encode"),
        );
    }
    clauses
}

/// Enqueues the body over the rows.
pub fn launch(launch: &mut Launch<'_>, body: &'static Body) -> Result<()> {
    match launch.call().operand(2)?.dim(0)? {
        // The caches are outputs with elements even where no token is written.
        0 => Ok(()),
        tokens => launch.run(body, [tokens as u32, 1, 1]),
    }
}

#[cfg(target_arch = "x86_64")]
pub use x86::run;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use crate::pool::Pool;
    use crate::simd::Isa;
    use crate::simd::rows::{CacheArgs, CacheSide, cache};
    use crate::vectors::{available, rows, rows_mut};
    use overt_sdk::host::Job;
    use overt_sdk::{Error, Result};
    use parking_lot::Mutex;

    /// The job with the instructions of `isa`.
    pub fn run(job: &Job<'_>, isa: Isa) -> Result<()> {
        available(isa)?;
        let call = job.call();
        let slots = call.operand(2)?;
        let side = |source: usize, cache: usize, scale: usize| -> Result<CacheSide> {
            let (from, to) = (call.operand(source)?, call.operand(cache)?);
            let target = rows_mut(&to, cache)?;
            Ok(CacheSide {
                source: rows(&from, source)?,
                head_stride: from.stride(1)?,
                cache: target.at,
                cache_type: target.ty,
                cache_strides: [to.stride(0)?, to.stride(1)?, to.stride(2)?],
                width: to.dim(3)? as usize,
                scale: call.attr_f64(scale)? as f32,
            })
        };
        let pages = call.operand(3)?;
        let args = CacheArgs {
            sides: [side(0, 3, 0)?, side(1, 4, 1)?],
            slots: slots.as_ptr()?,
            slots_stride: slots.stride(0)?,
            heads: pages.dim(2)? as usize,
            pages: pages.dim(0)? as usize,
            page_size: pages.dim(1)? as usize,
        };
        let bad = Mutex::new(None);
        let steps = args.heads * (args.sides[0].width + args.sides[1].width);
        let pool = job.context::<Pool>()?;
        pool.ranges(slots.dim(0)? as usize, steps as u64, |tokens| {
            // SAFETY: `isa` was found on this machine. Operands were resolved from live allocations, bounds-checked and aligned, and
            // heads are contiguous by the guard. Ranges are disjoint tokens, whose slots differ by the op's rules. The stream orders
            // other work on this memory.
            if let Err(fault) = unsafe { cache(isa, &args, tokens) } {
                bad.lock().get_or_insert(fault);
            }
        });
        match bad.into_inner() {
            None => Ok(()),
            Some((t, slot)) => Err(Error::invalid(format!(
                "operand `slots` at [{t}]: {slot}; wanted a slot below {} pages of {}",
                args.pages, args.page_size
            ))),
        }
    }
}

//! What the vector kernels of the rotation share.

use overt_sdk::Result;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::host::{Body, Launch};

/// Clauses besides the instructions.
pub fn needs() -> Vec<Clause> {
    let rows = ["x", "out"].into_iter().map(|operand| {
        fact(format!("{operand}.inner_contiguous"))
            .is(true)
            .source("vectors are loaded along a head")
    });
    let fits = fact("passed")
        .at_least(0)
        .source("two elements for each frequency");
    rows.chain([fits]).collect()
}

/// Enqueues the body over the rows.
pub fn launch(launch: &mut Launch<'_>, body: &'static Body) -> Result<()> {
    let x = launch.call().operand(0)?;
    let (rows, heads) = (x.dim(0)?, x.dim(1)?);
    launch.run(body, [rows as u32, heads as u32, 1])
}

#[cfg(target_arch = "x86_64")]
pub use x86::run;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use crate::pool::Pool;
    use crate::simd::Isa;
    use crate::simd::rows::{RopeArgs, rope};
    use crate::vectors::{available, rows, rows_mut, with_scratch};
    use overt_sdk::host::Job;
    use overt_sdk::{Error, Result};

    /// The job with the instructions of `isa`.
    pub fn run(job: &Job<'_>, isa: Isa) -> Result<()> {
        available(isa)?;
        let call = job.call();
        let (x, positions, frequencies) = (call.operand(0)?, call.operand(1)?, call.operand(2)?);
        let out = call.operand(3)?;
        let args = RopeArgs {
            x: rows(&x, 0)?,
            out: rows_mut(&out, 3)?,
            head_strides: [x.stride(1)?, out.stride(1)?],
            heads: x.dim(1)? as usize,
            width: x.dim(2)? as usize,
            positions: positions.as_ptr()?,
            positions_stride: positions.stride(0)?,
            frequencies: frequencies.as_ptr()?,
            frequencies_stride: frequencies.stride(0)?,
            pairs: frequencies.dim(0)? as usize,
            interleaved: call.attr_bool(0)?,
            amplitude: call.attr_f64(1)?,
        };
        if 2 * args.pairs > args.width {
            return Err(Error::launch(format!(
                "{} frequencies for heads of {}; wanted at most one for two elements",
                args.pairs, args.width
            )));
        }
        let pool = job.context::<Pool>()?;
        // A cosine and a sine cost about as much as forty multiply-adds, four at a time.
        let steps = args.heads * args.width + 10 * args.pairs;
        pool.ranges(x.dim(0)? as usize, steps as u64, |rows| {
            with_scratch(args.scratch_len(), |scratch| {
                // SAFETY: `isa` was found on this machine. Operands were resolved from live allocations, bounds-checked and aligned, and heads
                // are contiguous by the guard. Ranges are disjoint rows of the output, which is `x` or overlaps no input. The stream
                // orders other work on this memory.
                unsafe { rope(isa, &args, rows, scratch) }
            });
        });
        Ok(())
    }
}

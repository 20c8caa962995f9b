//! What the vector kernels of the choice share.

use overt_sdk::Result;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::host::{Body, Launch};

/// Clauses besides the instructions.
pub fn needs() -> Vec<Clause> {
    ["logits"]
        .into_iter()
        .map(|operand| {
            fact(format!("{operand}.inner_contiguous"))
                .is(true)
                .source("vectors are loaded along a row")
        })
        .collect()
}

/// Enqueues the body over the rows.
pub fn launch(launch: &mut Launch<'_>, body: &'static Body) -> Result<()> {
    let rows = launch.call().operand(0)?.dim(0)?;
    launch.run(body, [rows as u32, 1, 1])
}

#[cfg(target_arch = "x86_64")]
pub use x86::run;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use crate::pool::Pool;
    use crate::simd::Isa;
    use crate::simd::rows::{ArgmaxArgs, argmax};
    use crate::vectors::{available, ints_mut, rows};
    use overt_sdk::Result;
    use overt_sdk::host::Job;

    /// The job with the instructions of `isa`.
    pub fn run(job: &Job<'_>, isa: Isa) -> Result<()> {
        available(isa)?;
        let call = job.call();
        let (logits, out) = (call.operand(0)?, call.operand(1)?);
        let args = ArgmaxArgs {
            x: rows(&logits, 0)?,
            width: logits.dim(1)? as usize,
            out: ints_mut(&out, 1)?,
            out_stride: out.stride(0)?,
        };
        let pool = job.context::<Pool>()?;
        pool.ranges(logits.dim(0)? as usize, args.width as u64, |rows| {
            // SAFETY: `isa` was found on this machine. Operands were resolved from live allocations, bounds-checked and aligned, and rows
            // are contiguous by the guard. Ranges are disjoint rows of the output, which overlaps no input. The stream
            // orders other work on this memory.
            unsafe { argmax(isa, &args, rows) }
        });
        Ok(())
    }
}

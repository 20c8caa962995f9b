//! What the vector kernels of the activation share.

use overt_sdk::Result;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::host::{Body, Launch};

/// Clauses besides the instructions.
pub fn needs() -> Vec<Clause> {
    ["x", "out"]
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
    let rows = launch.call().operand(1)?.dim(0)?;
    launch.run(body, [rows as u32, 1, 1])
}

#[cfg(target_arch = "x86_64")]
pub use x86::run;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use crate::pool::Pool;
    use crate::simd::Isa;
    use crate::simd::rows::{Activation, GatedArgs, gated};
    use crate::vectors::{available, rows, rows_mut};
    use overt_sdk::Result;
    use overt_sdk::host::Job;

    /// The job with the instructions of `isa`.
    pub fn run(job: &Job<'_>, isa: Isa) -> Result<()> {
        available(isa)?;
        let call = job.call();
        let out = call.operand(1)?;
        let args = GatedArgs {
            x: rows(&call.operand(0)?, 0)?,
            out: rows_mut(&out, 1)?,
            width: out.dim(1)? as usize,
            activation: Activation::Clamped {
                limit: call.attr_f64(0)? as f32,
                alpha: call.attr_f64(1)? as f32,
            },
            interleaved: call.attr_bool(2)?,
        };
        let pool = job.context::<Pool>()?;
        // An exponential and a quotient, in vectors.
        pool.ranges(out.dim(0)? as usize, 4 * args.width as u64, |rows| {
            // SAFETY: `isa` was found on this machine. Operands were resolved from live allocations, bounds-checked and aligned, and
            // are contiguous by the guard. Ranges are disjoint rows of the output, which overlaps no input. The stream
            // orders other work on this memory.
            unsafe { gated(isa, &args, rows) }
        });
        Ok(())
    }
}

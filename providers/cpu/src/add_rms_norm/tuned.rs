//! What the vector kernels of sum and norm share.

use overt_sdk::Result;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::host::{Body, Launch};

/// Clauses besides the instructions.
pub fn needs() -> Vec<Clause> {
    ["x", "residual", "weight", "out"]
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
    use crate::simd::rows::{AddRmsNormArgs, add_rms_norm};
    use crate::vectors::{available, rows, rows_mut, with_scratch};
    use overt_sdk::Result;
    use overt_sdk::host::Job;

    /// The job with the instructions of `isa`.
    pub fn run(job: &Job<'_>, isa: Isa) -> Result<()> {
        available(isa)?;
        let call = job.call();
        let out = call.operand(3)?;
        let args = AddRmsNormArgs {
            x: rows(&call.operand(0)?, 0)?,
            residual: rows_mut(&call.operand(1)?, 1)?,
            weight: rows(&call.operand(2)?, 2)?,
            out: rows_mut(&out, 3)?,
            width: out.dim(1)? as usize,
            eps: call.attr_f64(0)?,
            offset: call.attr_f64(1)? as f32,
        };
        let pool = job.context::<Pool>()?;
        pool.ranges(out.dim(0)? as usize, 3 * args.width as u64, |rows| {
            with_scratch(args.scratch_len(), |scratch| {
                // SAFETY: `isa` was found on this machine. Operands were resolved from live allocations, bounds-checked and aligned, and
                // are contiguous by the guard. Ranges are disjoint rows of the outputs, which overlap nothing. The stream
                // orders other work on this memory.
                unsafe { add_rms_norm(isa, &args, rows, scratch) }
            });
        });
        Ok(())
    }
}

//! What the vector kernels of the draw share.

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
    use super::super::philox::uniform;
    use crate::pool::Pool;
    use crate::simd::Isa;
    use crate::simd::rows::{Choice, SampleArgs, sample};
    use crate::vectors::{available, ints_mut, rows};
    use overt_sdk::Result;
    use overt_sdk::host::Job;

    /// The job with the instructions of `isa`.
    pub fn run(job: &Job<'_>, isa: Isa) -> Result<()> {
        available(isa)?;
        let call = job.call();
        let (logits, out) = (call.operand(0)?, call.operand(7)?);
        let (temperature, top_k) = (job.view(1)?, job.view(2)?);
        let (top_p, min_p) = (job.view(3)?, job.view(4)?);
        let (seed, draw) = (job.view(5)?, job.view(6)?);
        let choice = |t: usize| {
            let at = [t as i64];
            let (seed, draw) = (seed.load_int(seed.at(at)), draw.load_int(draw.at(at)));
            Choice {
                temperature: temperature.load(temperature.at(at)) as f32,
                top_k: top_k.load_int(top_k.at(at)) as i32,
                top_p: top_p.load(top_p.at(at)) as f32,
                min_p: min_p.load(min_p.at(at)) as f32,
                uniform: uniform(seed, draw),
            }
        };
        let args = SampleArgs {
            x: rows(&logits, 0)?,
            width: logits.dim(1)? as usize,
            choice: &choice,
            out: ints_mut(&out, 7)?,
            out_stride: out.stride(0)?,
        };
        let pool = job.context::<Pool>()?;
        // Two passes, one of them with an exponential, and some sorting.
        pool.ranges(logits.dim(0)? as usize, 6 * args.width as u64, |rows| {
            // SAFETY: `isa` was found on this machine. Operands were resolved from live allocations, bounds-checked and aligned, and
            // are contiguous by the guard. Ranges are disjoint rows of the output, which overlaps no input. The stream
            // orders other work on this memory.
            unsafe { sample(isa, &args, rows) }
        });
        Ok(())
    }
}

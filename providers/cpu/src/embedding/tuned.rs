//! What the vector kernels of the rows share.

use overt_sdk::Result;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::host::{Body, Launch};

/// Clauses besides the instructions.
pub fn needs() -> Vec<Clause> {
    ["table", "out"]
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
    use crate::simd::rows::{EmbeddingArgs, embedding};
    use crate::vectors::{available, ints, rows_mut, stored};
    use overt_sdk::host::Job;
    use overt_sdk::{Error, Result};
    use parking_lot::Mutex;

    /// The job with the instructions of `isa`.
    pub fn run(job: &Job<'_>, isa: Isa) -> Result<()> {
        available(isa)?;
        let call = job.call();
        let (table, ids, out) = (call.operand(0)?, call.operand(1)?, call.operand(2)?);
        let (at, format) = stored(&table, 0)?;
        let (elements, bytes) = format.block();
        let args = EmbeddingArgs {
            table: at,
            format,
            // A stride is a whole number of blocks.
            table_stride: table.stride(0)? as isize / elements as isize * bytes as isize,
            vocabulary: table.dim(0)? as usize,
            ids: ints(&ids, 1)?,
            ids_stride: ids.stride(0)?,
            out: rows_mut(&out, 2)?,
            width: out.dim(1)? as usize,
            scale: call.attr_f64(0)? as f32,
        };
        let bad = Mutex::new(None);
        let pool = job.context::<Pool>()?;
        pool.ranges(out.dim(0)? as usize, args.width as u64, |rows| {
            // SAFETY: `isa` was found on this machine. Operands were resolved from live allocations, bounds-checked and aligned, and
            // are contiguous by the guard. Ranges are disjoint rows of the output, which overlaps no input. The stream
            // orders other work on this memory.
            if let Err(fault) = unsafe { embedding(isa, &args, rows) } {
                bad.lock().get_or_insert(fault);
            }
        });
        match bad.into_inner() {
            None => Ok(()),
            Some((t, id)) => Err(Error::invalid(format!(
                "operand `ids` at [{t}]: {id}; wanted a row of a table of {}",
                args.vocabulary
            ))),
        }
    }
}

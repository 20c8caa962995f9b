//! What the vector kernels of the weighted sum share.

use super::operands::X;
use overt_sdk::Result;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::host::{Body, Launch};

/// Clauses besides the instructions.
pub fn needs() -> Vec<Clause> {
    ["x", "shared", "out"]
        .into_iter()
        .map(|operand| {
            fact(format!("{operand}.inner_contiguous"))
                .is(true)
                .source("vectors are loaded along a row")
        })
        .collect()
}

/// Enqueues the body over the tokens.
pub fn launch(launch: &mut Launch<'_>, body: &'static Body) -> Result<()> {
    let tokens = launch.call().operand(X)?.dim(0)?;
    launch.run(body, [tokens as u32, 1, 1])
}

#[cfg(target_arch = "x86_64")]
pub use x86::run;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::operands::{OUT, SHARED, WEIGHTS, X};
    use crate::pool::Pool;
    use crate::simd::moe::{CombineArgs, combine};
    use crate::simd::{ElemType, Isa};
    use crate::vectors::{aligned, available, elements, elements_mut};
    use overt_sdk::Result;
    use overt_sdk::host::Job;

    /// The job with the instructions of `isa`.
    pub fn run(job: &Job<'_>, isa: Isa) -> Result<()> {
        available(isa)?;
        let call = job.call();
        let (x, weights, out) = (call.operand(X)?, call.operand(WEIGHTS)?, call.operand(OUT)?);
        let shared = call.optional(SHARED)?;
        aligned(&weights, WEIGHTS, 4)?;
        let ((x_at, x_type), (out_at, out_type)) = (elements(&x, X)?, elements_mut(&out, OUT)?);
        let (shared_at, shared_type) = match &shared {
            Some(shared) => elements(shared, SHARED)?,
            None => (std::ptr::null(), ElemType::F32),
        };
        let args = CombineArgs {
            x: x_at,
            x_type,
            x_strides: [x.stride(0)?, x.stride(1)?],
            weights: weights.as_ptr()?,
            weight_strides: [weights.stride(0)?, weights.stride(1)?],
            shared: shared_at,
            shared_type,
            shared_stride: shared.map_or(Ok(0), |shared| shared.stride(0))?,
            out: out_at,
            out_type,
            out_stride: out.stride(0)?,
            slots: x.dim(1)? as usize,
            width: x.dim(2)? as usize,
        };
        let steps = (args.slots + 1) as u64 * args.width as u64;
        job.context::<Pool>()?
            .ranges(out.dim(0)? as usize, steps, |tokens| {
                // SAFETY: `isa` was found on this machine. Operands were resolved from live allocations, bounds-checked and aligned,
                // and are contiguous by the guard. Ranges are disjoint rows of the output, which overlaps no input by the op's
                // schema. The stream orders other work on this memory.
                unsafe { combine(isa, &args, tokens) }
            });
        Ok(())
    }
}

//! What the vector kernels of the product share: their clauses, their launch, and the way from a call to the bodies.

use overt_sdk::Result;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::host::{Body, Launch};

/// Clauses besides the instructions.
pub fn needs() -> Vec<Clause> {
    let mut clauses = Vec::new();
    for operand in ["a", "b", "out"] {
        clauses.push(
            fact(format!("{operand}.dtype"))
                .is_in([F32, F16, BF16])
                .source("what the bodies decode"),
        );
        clauses.push(
            fact(format!("{operand}.inner_contiguous"))
                .is(true)
                .source("vectors are loaded along a row"),
        );
    }
    clauses
}

/// Enqueues the body over the output's columns.
pub fn launch(launch: &mut Launch<'_>, body: &'static Body) -> Result<()> {
    let call = launch.call();
    let (rows, columns) = (call.operand(0)?.dim(0)?, call.operand(1)?.dim(0)?);
    launch.run(body, [columns as u32, rows as u32, 1])
}

#[cfg(target_arch = "x86_64")]
pub use x86::run;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::operands::{A, B, BIAS, OUT};
    use crate::pool::Pool;
    use crate::simd::ElemType;
    use crate::simd::matmul::{Code, MatmulArgs, grain, rows, scratch_len};
    use crate::vectors::{elements, elements_mut, with_scratch};
    use overt_sdk::host::Job;
    use overt_sdk::{Error, Result};

    /// The job's product by `code`.
    pub fn run(job: &Job<'_>, code: Code) -> Result<()> {
        if !code.is_available() {
            return Err(Error::unsupported(format!(
                "{code:?} was chosen on a CPU or system without its instructions"
            )));
        }
        let call = job.call();
        let (a, b, out) = (call.operand(A)?, call.operand(B)?, call.operand(OUT)?);
        let bias = call.optional(BIAS)?;
        let ((a_at, a_type), (b_at, b_type)) = (elements(&a, A)?, elements(&b, B)?);
        let (out_at, out_type) = elements_mut(&out, OUT)?;
        let (bias_at, bias_type) = match &bias {
            Some(bias) => elements(bias, BIAS)?,
            None => (std::ptr::null(), ElemType::F32),
        };
        let args = MatmulArgs {
            a: a_at,
            a_type,
            a_stride: a.stride(0)?,
            b: b_at,
            b_type,
            b_stride: b.stride(0)?,
            bias: bias_at,
            bias_type,
            bias_stride: bias.map_or(Ok(0), |bias| bias.stride(0))?,
            out: out_at,
            out_type,
            out_stride: out.stride(0)?,
            m: out.dim(0)? as usize,
            n: out.dim(1)? as usize,
            k: a.dim(1)? as usize,
        };
        let pool = job.context::<Pool>()?;
        let (tall, wide) = grain(code, &args, pool.threads());
        let (down, across) = (args.m.div_ceil(tall), args.n.div_ceil(wide));
        let steps = (tall * wide) as u64 * args.k as u64;
        let scratch = scratch_len(code, &args);
        pool.ranges(down * across, steps, |items| {
            with_scratch(scratch, |scratch| {
                for item in items {
                    // Down first, so that neighbours share rows of `b`.
                    let (i, j) = (item % down * tall, item / down * wide);
                    let (m, n) = (i..args.m.min(i + tall), j..args.n.min(j + wide));
                    // SAFETY: the instructions were found on this machine. Operands were resolved from live allocations, bounds-checked
                    // and aligned; rows are contiguous by the guard. Items are disjoint parts of the output, which overlaps no
                    // input by the op's schema. The stream orders other work on this memory.
                    unsafe { rows(code, &args, m, n, scratch) }
                }
            });
        });
        Ok(())
    }
}

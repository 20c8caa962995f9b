//! What the vector kernels of the choice share.

use super::problem::LOGITS;
use overt_sdk::Result;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::host::{Body, Launch};

/// Clauses besides the instructions.
pub fn needs() -> Vec<Clause> {
    vec![
        fact("logits.inner_contiguous")
            .is(true)
            .source("vectors are loaded along a row"),
        fact("E")
            .at_most(1 << 16)
            .source("numbers of experts are counted in f32 lanes"),
    ]
}

/// Enqueues the body over the tokens.
pub fn launch(launch: &mut Launch<'_>, body: &'static Body) -> Result<()> {
    let tokens = launch.call().operand(LOGITS)?.dim(0)?;
    launch.run(body, [tokens as u32, 1, 1])
}

#[cfg(target_arch = "x86_64")]
pub use x86::run;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::problem::{BIAS, EXPERTS, LOGITS, Rule, WEIGHTS};
    use crate::pool::Pool;
    use crate::simd::Isa;
    use crate::simd::moe::{RouterArgs, router};
    use crate::vectors::{aligned, available, elements, ints_mut, with_scratch};
    use overt_sdk::Result;
    use overt_sdk::host::Job;

    /// The job with the instructions of `isa`.
    pub fn run(job: &Job<'_>, isa: Isa) -> Result<()> {
        available(isa)?;
        let rule = Rule::of(job)?;
        let call = job.call();
        let (logits, bias) = (call.operand(LOGITS)?, call.optional(BIAS)?);
        let (weights, chosen) = (call.operand(WEIGHTS)?, call.operand(EXPERTS)?);
        let (logits_at, logits_type) = elements(&logits, LOGITS)?;
        aligned(&weights, WEIGHTS, 4)?;
        if let Some(bias) = &bias {
            aligned(bias, BIAS, 4)?;
        }
        let args = RouterArgs {
            logits: logits_at,
            logits_type,
            logits_stride: logits.stride(0)?,
            bias: bias.map_or(Ok(std::ptr::null()), |bias| bias.as_ptr())?,
            bias_stride: bias.map_or(Ok(0), |bias| bias.stride(0))?,
            weights: weights.as_mut_ptr()?,
            weight_strides: [weights.stride(0)?, weights.stride(1)?],
            chosen: ints_mut(&chosen, EXPERTS)?,
            chosen_strides: [chosen.stride(0)?, chosen.stride(1)?],
            experts: rule.experts,
            wanted: rule.wanted,
            sigmoid: rule.sigmoid,
            groups: rule.groups,
            top_groups: rule.top_groups,
            group_score: rule.group_score,
            renormalise: rule.renormalise,
            scale: rule.scale as f32,
        };
        // An exponential costs about as much as twenty multiply-adds, and each of the wanted is a pass.
        let steps = (3 + rule.wanted) as u64 * rule.experts as u64;
        job.context::<Pool>()?.ranges(rule.tokens, steps, |tokens| {
            with_scratch(args.scratch_len(), |scratch| {
                // SAFETY: `isa` was found on this machine. Operands were resolved from live allocations, bounds-checked and aligned,
                // and rows of logits are contiguous by the guard; extents were held against each other. Ranges are disjoint rows of the
                // outputs, which overlap no input by the op's schema. The stream orders other work on this memory.
                unsafe { router(isa, &args, tokens, scratch) }
            });
        });
        Ok(())
    }
}

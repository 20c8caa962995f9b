//! What the vector kernels of dense experts share: clauses, launch, and the way from a call to the bodies of the product.

use super::operands::{A, B, OUT};
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

overt_sdk::knob! {
    id: "cpu.moe_grouped_gemm.many_rows",
    default: 64,
    doc: "tokens from which products of experts are computed in register tiles",
    range: 1..=1_000_000,
}

/// Clauses of the kernels with register tiles, besides those of [`needs`].
pub fn needs_many() -> Vec<Clause> {
    vec![
        fact("T")
            .at_least(value_of("knob.cpu.moe_grouped_gemm.many_rows"))
            .source("laying weights out costs as much as some rows' multiply-adds, and experts share the tokens"),
    ]
}

/// Enqueues the body over the columns and rows of the output.
pub fn launch(launch: &mut Launch<'_>, body: &'static Body) -> Result<()> {
    let call = launch.call();
    let (tokens, columns) = (call.operand(A)?.dim(0)?, call.operand(OUT)?.dim(2)?);
    let experts = call.operand(B)?.dim(0)?;
    launch.run(body, [columns as u32, tokens as u32, experts as u32])
}

#[cfg(target_arch = "x86_64")]
pub use x86::{run, workspace};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::operands::{A, B};
    use super::super::placed::{Placed, items, workspace as room};
    use crate::pool::Pool;
    use crate::simd::matmul::{Code, MatmulArgs, grain, rows, scratch_len};
    use crate::vectors::{elements, with_scratch};
    use overt_sdk::host::Job;
    use overt_sdk::{CallView, Error, Result, WorkspaceNeed};

    /// Bytes of a row of `a`.
    fn row_bytes(call: &CallView<'_>) -> Result<u64> {
        let a = call.operand(A)?;
        Ok(a.dim(2)? as u64 * elements(&a, A)?.1.bytes() as u64)
    }

    /// Room for rows of inputs and outputs, sorted.
    pub fn workspace(call: &CallView<'_>) -> Result<WorkspaceNeed> {
        room(call, row_bytes(call)?)
    }

    /// The job's products by `code`.
    pub fn run(job: &Job<'_>, code: Code) -> Result<()> {
        if !code.is_available() {
            return Err(Error::unsupported(format!(
                "{code:?} was chosen on a CPU or system without its instructions"
            )));
        }
        let call = job.call();
        let bytes = row_bytes(&call)?;
        let placed = Placed::of(job, bytes)?;
        let (b, pool) = (call.operand(B)?, job.context::<Pool>()?);
        let (b_at, b_type) = elements(&b, B)?;
        let bytes = bytes as usize;
        placed.clear();
        let mut products = Vec::new();
        for (expert, numbers) in placed.sorted.experts() {
            let slots = placed.sorted.slots(numbers.clone());
            let first = numbers.start;
            let (a, out) = match slots {
                [one] => (placed.a_row(*one), placed.out_row(*one)),
                _ => {
                    pool.ranges(slots.len(), bytes as u64 / 8, |range| {
                        for i in range {
                            let to = placed.kept(first + i);
                            // SAFETY: a whole row of the input, contiguous by the guard, and the place of its number in the
                            // workspace, which was held against what `workspace` asks for and is this stream's alone.
                            unsafe { to.copy_from_nonoverlapping(placed.a_row(slots[i]), bytes) };
                        }
                    });
                    (placed.kept(first).cast_const(), placed.together(first))
                }
            };
            let offset = expert as isize * b.stride(0)? as isize * b_type.bytes() as isize;
            products.push(MatmulArgs {
                a,
                a_type: placed.a_type(),
                a_stride: placed.k as i64,
                b: b_at.wrapping_offset(offset),
                b_type,
                b_stride: b.stride(1)?,
                bias: placed.bias.of(expert),
                bias_type: placed.bias.ty,
                bias_stride: placed.bias.stride(),
                out,
                out_type: placed.out_type(),
                out_stride: placed.n as i64,
                m: slots.len(),
                n: placed.n,
                k: placed.k,
            });
        }
        let items = items(products.iter().map(|p| (p.m, p.n)), |i| {
            grain(code, &products[i], pool.threads())
        });
        let work: usize = products.iter().map(|p| p.m * p.n * p.k).sum();
        let steps = (work / items.len().max(1)) as u64;
        pool.ranges(items.len(), steps, |range| {
            for item in &items[range] {
                let args = &products[item.product];
                with_scratch(scratch_len(code, args), |scratch| {
                    // SAFETY: the instructions were found on this machine. Operands were resolved from live allocations, bounds-checked and aligned;
                    // rows are contiguous by the guard, and experts were held against the weights. Items are disjoint parts of the output
                    // or the workspace. The stream orders other work on this memory.
                    unsafe { rows(code, args, item.m.clone(), item.n.clone(), scratch) }
                });
            }
        });
        placed.scatter(pool);
        Ok(())
    }
}

//! What the kernels of quantised experts share: clauses, launch, and the way from a call to the bodies of the product.

use overt_sdk::abi::OvertDType;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;

/// The block formats, all of which the bodies take.
pub const BLOCKS: [OvertDType; 9] = [Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, MXFP4];
/// The fp8 formats.
pub const FP8: [OvertDType; 2] = [FP8_E4M3FN, FP8_E5M2];

/// Clauses besides the instructions, for weights of these formats.
pub fn needs(formats: &[OvertDType]) -> Vec<Clause> {
    let mut clauses = Vec::new();
    for operand in ["a", "out"] {
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
    clauses.push(
        fact("b.dtype")
            .is_in(formats.iter().copied())
            .source("what the bodies decode"),
    );
    clauses.push(
        fact("b.inner_contiguous")
            .is(true)
            .source("rows are packed as stretches of memory"),
    );
    clauses
}

/// The functions of a kernel file, for its instruction set.
macro_rules! entries {
    ($set:ident) => {
        #[cfg(target_arch = "x86_64")]
        use crate::simd::quant::Set;

        #[cfg(target_arch = "x86_64")]
        fn workspace(call: &CallView<'_>) -> Result<WorkspaceNeed> {
            quant::workspace(call, Set::$set)
        }

        #[cfg(target_arch = "x86_64")]
        fn run(job: &Job<'_>) -> Result<()> {
            quant::run(job, Set::$set)
        }

        #[cfg(not(target_arch = "x86_64"))]
        fn workspace(_: &CallView<'_>) -> Result<WorkspaceNeed> {
            Ok(WorkspaceNeed::default())
        }

        #[cfg(not(target_arch = "x86_64"))]
        fn run(_: &Job<'_>) -> Result<()> {
            Err(overt_sdk::Error::unsupported(NO_X86))
        }
    };
}
pub(super) use entries;

#[cfg(target_arch = "x86_64")]
pub use x86::{run, workspace};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::operands::{A, B, B_SCALE, OUT, ROUNDED, SCALE_DEPTH, SCALE_ROWS};
    use super::super::placed::{LINE, Placed, items, workspace as room};
    use crate::pool::Pool;
    use crate::simd::quant::Set;
    use crate::simd::quant::formats::Format;
    use crate::simd::quant::product::{
        Activations, QuantArgs, grain, prepare, prepared_bytes, rows, scratch_len,
    };
    use crate::vectors::{aligned, elements, elements_mut, stored, with_scratch};
    use overt_sdk::host::Job;
    use overt_sdk::{CallView, Error, Result, WorkspaceNeed};

    /// Multiply-adds that preparing an element of a compares to.
    const PREPARING: u64 = 4;

    /// The product of one row with the first expert, with addresses of the call, which before the launch may be none.
    fn product(call: &CallView<'_>) -> Result<QuantArgs> {
        let (a, b, out) = (call.operand(A)?, call.operand(B)?, call.operand(OUT)?);
        let ((a_at, a_type), (b_at, b_format)) = (elements(&a, A)?, stored(&b, B)?);
        let (out_at, out_type) = elements_mut(&out, OUT)?;
        let scale = call.optional(B_SCALE)?;
        if let Some(scale) = &scale {
            aligned(scale, B_SCALE, 4)?;
        }
        if b.layout() != 0 {
            return Err(Error::launch(format!(
                "operand {B} lies in layout {:#x}; wanted the plain one",
                b.layout()
            )));
        }
        Ok(QuantArgs {
            a: a_at,
            a_type,
            a_stride: 0,
            b: b_at,
            b_format,
            b_stride: b.stride(1)?,
            packed: false,
            b_scale: scale.map_or(std::ptr::null(), |s| s.address() as usize as *const f32),
            b_scale_strides: scale
                .map_or(Ok([0, 0]), |s| Ok::<_, Error>([s.stride(1)?, s.stride(2)?]))?,
            scale_rows: call.attr_i64(SCALE_ROWS)?.max(1) as usize,
            scale_depth: call.attr_i64(SCALE_DEPTH)?.max(1) as usize,
            bias: std::ptr::null(),
            bias_type: crate::simd::ElemType::F32,
            bias_stride: 0,
            out: out_at,
            out_type,
            out_stride: 0,
            m: 1,
            n: b.dim(1)? as usize,
            k: b.dim(2)? as usize,
            activations: if call.attr_bool(ROUNDED)? {
                Activations::Int8
            } else {
                Activations::Exact
            },
        })
    }

    /// The product of one expert, and the number of its first row among all.
    struct Product {
        args: QuantArgs,
        first: usize,
    }

    /// Bytes that suffice for a prepared row, one of a few or of many.
    fn kept_bytes(set: Set, one: &QuantArgs) -> usize {
        const MANY: usize = 1 << 10;
        let of_many = prepared_bytes(set, &QuantArgs { m: MANY, ..*one }).div_ceil(MANY);
        of_many
            .max(prepared_bytes(set, one))
            .next_multiple_of(LINE as usize)
    }

    /// Room for prepared rows of `a` and for outputs, sorted.
    pub fn workspace(call: &CallView<'_>, set: Set) -> Result<WorkspaceNeed> {
        room(call, kept_bytes(set, &product(call)?) as u64)
    }

    /// Bytes from one expert's weight to the next.
    fn expert_bytes(format: Format, stride: i64) -> isize {
        let (elements, bytes) = format.block();
        stride as isize / elements as isize * bytes as isize
    }

    /// The same product with another row of `a`.
    fn with_row(args: &QuantArgs, a: *const u8) -> QuantArgs {
        QuantArgs { a, ..*args }
    }

    /// The job's products with the instructions of `set`.
    pub fn run(job: &Job<'_>, set: Set) -> Result<()> {
        if !set.is_available() {
            return Err(Error::unsupported(format!(
                "{set:?} code was chosen on a CPU or system without it"
            )));
        }
        let call = job.call();
        let one = product(&call)?;
        let placed = Placed::of(job, kept_bytes(set, &one) as u64)?;
        let (b, pool) = (call.operand(B)?, job.context::<Pool>()?);
        let b_bytes = expert_bytes(one.b_format, b.stride(0)?);
        let scale_stride = call.optional(B_SCALE)?.map_or(Ok(0), |s| s.stride(0))?;
        placed.clear();
        let sorted = &placed.sorted;
        let mut products = Vec::new();
        // Of each row in order: which product it belongs to.
        let mut owners = Vec::with_capacity(sorted.len());
        for (expert, numbers) in sorted.experts() {
            let (first, slots) = (numbers.start, sorted.slots(numbers));
            owners.resize(first + slots.len(), products.len());
            let out = match slots {
                [alone] => placed.out_row(*alone),
                _ => placed.together(first),
            };
            let args = QuantArgs {
                b: one.b.wrapping_offset(expert as isize * b_bytes),
                b_scale: if one.b_scale.is_null() {
                    one.b_scale
                } else {
                    one.b_scale
                        .wrapping_offset(expert as isize * scale_stride as isize)
                },
                bias: placed.bias.of(expert),
                bias_type: placed.bias.ty,
                bias_stride: placed.bias.stride(),
                out,
                out_stride: placed.n as i64,
                m: slots.len(),
                ..one
            };
            products.push(Product { args, first });
        }
        let all = sorted.slots(0..sorted.len());
        pool.ranges(all.len(), one.k as u64 * PREPARING, |range| {
            for i in range {
                let product = &products[owners[i]];
                // How a row lies depends on how many there are, so each is prepared as one of its product's.
                let args = with_row(&product.args, placed.a_row(all[i]));
                let stride = prepared_bytes(set, &args) / args.m;
                let to = placed
                    .kept(product.first)
                    .wrapping_add((i - product.first) * stride);
                // SAFETY: `set` was found on this machine. The row was resolved from a live allocation, bounds-checked and aligned, and
                // is contiguous by the guard; its place in the workspace, held against what `workspace` asks for, is this stream's
                // alone.
                unsafe { prepare(set, &args, to, 0..1) };
            }
        });
        let items = items(products.iter().map(|p| (p.args.m, p.args.n)), |i| {
            grain(set, &products[i].args, pool.threads())
        });
        let work: usize = products
            .iter()
            .map(|p| p.args.m * p.args.n * p.args.k)
            .sum();
        let steps = (work / items.len().max(1)) as u64;
        pool.ranges(items.len(), steps, |range| {
            for item in &items[range] {
                let Product { args, first } = &products[item.product];
                let prepared = placed.kept(*first).cast_const();
                with_scratch(scratch_len(set, args), |scratch| {
                    // SAFETY: as above, and experts were held against the weights. The rows have been prepared, one after another. Items
                    // are disjoint parts of the output or the workspace, and begin at whole panels. The stream orders other work on
                    // this memory.
                    unsafe { rows(set, args, prepared, item.m.clone(), item.n.clone(), scratch) }
                });
            }
        });
        placed.scatter(pool);
        Ok(())
    }
}

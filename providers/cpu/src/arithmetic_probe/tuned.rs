//! What the vector kernels share: their clauses, their launch, and the way from a call to the bodies.

use overt_sdk::Result;
use overt_sdk::abi::OvertDType;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::host::{Body, Launch};

/// What multiplies.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub enum Code {
    /// Multiply-adds of f32, and bytes in three instructions, in vectors of this set.
    Plain(crate::simd::Isa),
    /// Four products of bytes an instruction.
    Vnni,
    /// Two products of bf16 an instruction.
    Pairs,
}

/// Clauses besides the instructions.
pub fn needs<const N: usize>(types: [OvertDType; N], source: &'static str) -> Vec<Clause> {
    vec![
        fact("a.dtype").is_in(types).source(source),
        fact("out.inner_contiguous")
            .is(true)
            .source("vectors are stored along the output"),
    ]
}

/// Enqueues the body over the outputs.
pub fn launch(launch: &mut Launch<'_>, body: &'static Body) -> Result<()> {
    let outputs = launch.call().operand(2)?.dim(0)?;
    launch.run(body, [outputs as u32, 1, 1])
}

#[cfg(target_arch = "x86_64")]
pub use x86::run;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::reference::steps;
    use super::Code;
    use crate::pool::Pool;
    use crate::simd::{Isa, probe};
    use crate::vectors::{available, elements_mut};
    use half::bf16;
    use overt_sdk::Result;
    use overt_sdk::dtypes::I8;
    use overt_sdk::host::{HostView, Job};

    fn factors<T: Default + Copy>(
        view: &HostView<'_>,
        as_type: impl Fn(f64) -> T,
    ) -> [T; probe::FACTORS] {
        std::array::from_fn(|i| as_type(view.load(view.at([i as i64]))))
    }

    /// The job's passes.
    pub fn run(job: &Job<'_>, code: Code) -> Result<()> {
        available(match code {
            Code::Plain(isa) => isa,
            Code::Vnni | Code::Pairs => Isa::Avx512,
        })?;
        let steps = steps(job)?;
        let (a, b) = (job.view(0)?, job.view(1)?);
        let out = job.call().operand(2)?;
        let count = out.dim(0)? as usize;
        let (at, _) = elements_mut(&out, 2)?;
        let at = Sums(at.cast::<f32>());
        let bytes = job.call().operand(0)?.dtype() == I8;
        let (narrow_a, narrow_b) = (factors(&a, |v| v as i8), factors(&b, |v| v as i8));
        let (wide_a, wide_b) = (factors(&a, |v| v as f32), factors(&b, |v| v as f32));
        let bits = |v: f64| bf16::from_f64(v).to_bits();
        let (pairs_a, pairs_b) = (factors(&a, bits), factors(&b, bits));
        let pool = job.context::<Pool>()?;
        pool.ranges(count, 4 * steps, |range| {
            // SAFETY: ranges are disjoint parts of the output, which was resolved from a live allocation, bounds-checked and aligned,
            // is contiguous by the guard and overlaps no input by the op's schema.
            let part =
                unsafe { std::slice::from_raw_parts_mut(at.get().add(range.start), range.len()) };
            let first = range.start;
            // SAFETY: the kernel's guard asks for the instructions, and those of `isa` were found on this machine.
            unsafe {
                match code {
                    Code::Vnni => probe::bytes_vnni(&narrow_a, &narrow_b, steps, first, part),
                    Code::Pairs => probe::pairs_bf16(&pairs_a, &pairs_b, steps, first, part),
                    Code::Plain(isa) if !bytes => {
                        probe::floats(isa, &wide_a, &wide_b, steps, first, part);
                    }
                    Code::Plain(Isa::Avx2) => {
                        probe::bytes_avx2(&narrow_a, &narrow_b, steps, first, part);
                    }
                    Code::Plain(Isa::Avx512) => {
                        probe::bytes_avx512(&narrow_a, &narrow_b, steps, first, part);
                    }
                }
            }
        });
        Ok(())
    }

    /// The output's address, for threads that write parts of their own.
    struct Sums(*mut f32);

    impl Sums {
        fn get(&self) -> *mut f32 {
            self.0
        }
    }

    // SAFETY: the memory outlives the job, and each thread makes a slice of its own part alone.
    unsafe impl Sync for Sums {}
}

//! What the vector kernels share: their clauses, their launch, and the way from a call to the body.

use overt_sdk::Result;
use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;
use overt_sdk::host::{Body, Launch};

/// Clauses besides the instructions.
pub fn needs() -> Vec<Clause> {
    vec![
        fact("x.inner_contiguous")
            .is(true)
            .source("vectors are loaded along the buffer"),
    ]
}

/// Enqueues the body over the buffer's pieces.
pub fn launch(launch: &mut Launch<'_>, body: &'static Body) -> Result<()> {
    let elements = launch.call().operand(0)?.dim(0)? as u64;
    let pieces = elements.div_ceil(PIECE as u64).max(1);
    launch.run(body, [pieces as u32, 1, 1])
}

/// Elements that one thread reads at a stretch: 256 KiB, so that a few pieces keep every thread busy and a piece is long against
/// its start.
const PIECE: usize = 1 << 16;

#[cfg(target_arch = "x86_64")]
pub use x86::run;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::PIECE;
    use crate::pool::Pool;
    use crate::simd::{Isa, probe};
    use crate::vectors::{aligned, available};
    use overt_sdk::Result;
    use overt_sdk::host::Job;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// The job's sum with the instructions of `isa`.
    pub fn run(job: &Job<'_>, isa: Isa) -> Result<()> {
        available(isa)?;
        let (x, out) = (job.call().operand(0)?, job.view(1)?);
        aligned(&x, 0, 4)?;
        let len = x.dim(0)? as usize;
        let elements: &[f32] = if len == 0 {
            &[]
        } else {
            // SAFETY: the operand was resolved from a live allocation and bounds-checked, its elements lie side by side by the guard,
            // any bits are a float, and the stream orders other work on this memory.
            unsafe { std::slice::from_raw_parts(x.as_ptr::<f32>()?, len) }
        };
        let pieces = len.div_ceil(PIECE);
        // Added in order at the end, so that the sum does not depend on the threads.
        let sums: Vec<AtomicU32> = (0..pieces).map(|_| AtomicU32::new(0)).collect();
        job.context::<Pool>()?
            .ranges(pieces, PIECE as u64, |range| {
                for piece in range {
                    let part = &elements[piece * PIECE..len.min((piece + 1) * PIECE)];
                    // SAFETY: `isa` was found on this machine.
                    let sum = unsafe { probe::sum(isa, part) };
                    sums[piece].store(sum.to_bits(), Ordering::Relaxed);
                }
            });
        let total: f64 = sums
            .iter()
            .map(|bits| f64::from(f32::from_bits(bits.load(Ordering::Relaxed))))
            .sum();
        out.store(out.at([0]), total);
        Ok(())
    }
}

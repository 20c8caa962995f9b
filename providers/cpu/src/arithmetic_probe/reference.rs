//! The products in `f64`, multiplied by the number of passes: right, and no rate.

use crate::images::PORTABLE;
use overt_kernels::ops::arithmetic_probe::OP;
use overt_sdk::host::{Body, HostKernel, Job, Launch};
use overt_sdk::{Error, Result};

overt_sdk::kernel! {
    id: "cpu/arithmetic_probe/reference",
    op: &OP,
    tier: Reference,
    doc: "one pass in f64, times their number; gives no rate",
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_arithmetic_probe_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let outputs = launch.call().operand(2)?.dim(0)?;
    launch.run(&BODY, [outputs as u32, 1, 1])
}

/// The number of passes of a job.
pub fn steps(job: &Job<'_>) -> Result<u64> {
    let steps = job.call().attr_i64(0)?;
    u64::try_from(steps)
        .map_err(|_| Error::invalid(format!("attribute `steps` is {steps}; wanted 0 or more")))
}

fn run(job: &Job<'_>) -> Result<()> {
    let (a, b, out) = (job.view(0)?, job.view(1)?, job.view(2)?);
    let steps = steps(job)? as f64;
    for g in 0..out.shape()[0] {
        let first = g % 8 * 4;
        let products = (first..first + 4).map(|i| a.load(a.at([i])) * b.load(b.at([i])));
        out.store(out.at([g]), steps * products.sum::<f64>());
    }
    Ok(())
}

//! The sum in `f64`.

use crate::images::PORTABLE;
use overt_kernels::ops::memory_probe::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/memory_probe/reference",
    op: &OP,
    tier: Reference,
    doc: "element by element in f64; gives no rate worth the name",
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_memory_probe_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    launch.run(&BODY, [1, 1, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let (x, out) = (job.view(0)?, job.view(1)?);
    let sum = (0..x.shape()[0]).map(|i| x.load(x.at([i]))).sum();
    out.store(out.at([0]), sum);
    Ok(())
}

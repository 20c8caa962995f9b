//! `silu` of the first half of each row times the second half, in `f64`.

use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::silu_and_mul::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/silu_and_mul/reference",
    op: &OP,
    tier: Reference,
    doc: "element by element in f64, any strides and types",
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.silu_and_mul.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_silu_and_mul_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let rows = launch.call().operand(1)?.dim(0)?;
    launch.run(&BODY, [rows as u32, 1, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let (x, out) = (job.view(0)?, job.view(1)?);
    let (rows, width) = (out.shape()[0], out.shape()[1]);
    let pool = job.context::<Pool>()?;
    // An exponential costs about as much as twenty multiply-adds.
    pool.ranges(rows as usize, 20 * width as u64, |rows| {
        for t in rows.start as i64..rows.end as i64 {
            for d in 0..width {
                let gate = x.load(x.at([t, d]));
                let up = x.load(x.at([t, width + d]));
                out.store(out.at([t, d]), gate / (1.0 + (-gate).exp()) * up);
            }
        }
    });
    Ok(())
}

//! Clamped swish of the gate times one more than the clamped other half, in `f64`.

use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::swiglu_clamped::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/swiglu_clamped/reference",
    op: &OP,
    tier: Reference,
    doc: "element by element in f64, any strides and types",
    handles: ["limit", "alpha", "interleaved"],
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.swiglu_clamped.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_swiglu_clamped_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let rows = launch.call().operand(1)?.dim(0)?;
    launch.run(&BODY, [rows as u32, 1, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let (x, out) = (job.view(0)?, job.view(1)?);
    let call = job.call();
    let (limit, alpha, interleaved) = (call.attr_f64(0)?, call.attr_f64(1)?, call.attr_bool(2)?);
    let (rows, width) = (out.shape()[0], out.shape()[1]);
    // Where gate and up of element d stand.
    let (step, apart) = if interleaved { (2, 1) } else { (1, width) };
    let pool = job.context::<Pool>()?;
    pool.ranges(rows as usize, 25 * width as u64, |rows| {
        for t in rows.start as i64..rows.end as i64 {
            for d in 0..width {
                let gate = x.load(x.at([t, step * d]));
                let up = x.load(x.at([t, step * d + apart]));
                // Not `min`, which takes the bound for a NaN.
                let gate = if gate > limit { limit } else { gate };
                let up = if up > limit {
                    limit
                } else if up < -limit {
                    -limit
                } else {
                    up
                };
                out.store(
                    out.at([t, d]),
                    (up + 1.0) * gate / (1.0 + (-alpha * gate).exp()),
                );
            }
        }
    });
    Ok(())
}

//! The residual's sum, and what it holds then divided by its root mean square, times the weight, in `f64`.

use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::add_rms_norm::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/add_rms_norm/reference",
    op: &OP,
    tier: Reference,
    doc: "row by row in f64, any strides and types",
    handles: ["weight_offset"],
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.add_rms_norm.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_add_rms_norm_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let rows = launch.call().operand(0)?.dim(0)?;
    launch.run(&BODY, [rows as u32, 1, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let (x, residual, weight, out) = (job.view(0)?, job.view(1)?, job.view(2)?, job.view(3)?);
    let (eps, offset) = (job.call().attr_f64(0)?, job.call().attr_f64(1)?);
    let (rows, width) = (x.shape()[0], x.shape()[1]);
    let pool = job.context::<Pool>()?;
    pool.ranges(rows as usize, 5 * width as u64, |rows| {
        for t in rows.start as i64..rows.end as i64 {
            let mut squares = 0.0;
            for d in 0..width {
                let at = residual.at([t, d]);
                residual.store(at, residual.load(at) + x.load(x.at([t, d])));
                // Read again, since what is normalised is the sum as the residual holds it.
                squares += residual.load(at).powi(2);
            }
            let root = (squares / width as f64 + eps).sqrt();
            for d in 0..width {
                let value = residual.load(residual.at([t, d]));
                let factor = weight.load(weight.at([d])) + offset;
                out.store(out.at([t, d]), value * factor / root);
            }
        }
    });
    Ok(())
}

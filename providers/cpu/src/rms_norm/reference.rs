//! Each row divided by its root mean square, times the weight, in `f64`.

use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::rms_norm::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/rms_norm/reference",
    op: &OP,
    tier: Reference,
    doc: "row by row in f64, any strides and types",
    handles: ["weight_offset"],
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.rms_norm.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC | IN_PLACE,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_rms_norm_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let rows = launch.call().operand(0)?.dim(0)?;
    launch.run(&BODY, [rows as u32, 1, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let (x, weight, out) = (job.view(0)?, job.view(1)?, job.view(2)?);
    let (eps, offset) = (job.call().attr_f64(0)?, job.call().attr_f64(1)?);
    let (rows, width) = (x.shape()[0], x.shape()[1]);
    let pool = job.context::<Pool>()?;
    pool.ranges(rows as usize, 4 * width as u64, |rows| {
        // A copy of the row, since `out` may be the memory of `x`.
        let mut row = vec![0.0; width as usize];
        for t in rows.start as i64..rows.end as i64 {
            x.load_row(x.at([t, 0]), x.strides()[1], &mut row);
            let squares: f64 = row.iter().map(|v| v * v).sum();
            let root = (squares / width as f64 + eps).sqrt();
            for (d, value) in (0..).zip(&row) {
                // The quotient alone would be 0/0 for a row of zeros with an eps of 0, which is what the op says.
                out.store(
                    out.at([t, d]),
                    value * (weight.load(weight.at([d])) + offset) / root,
                );
            }
        }
    });
    Ok(())
}

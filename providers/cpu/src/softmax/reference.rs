//! Exponentials of each row as shares of their sum, in `f64`.

use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::softmax::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/softmax/reference",
    op: &OP,
    tier: Reference,
    doc: "row by row in f64, any strides and types",
    handles: ["scale"],
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.softmax.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_softmax_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let rows = launch.call().operand(0)?.dim(0)?;
    launch.run(&BODY, [rows as u32, 1, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let (x, out) = (job.view(0)?, job.view(1)?);
    let scale = job.call().attr_f64(0)?;
    let (rows, width) = (x.shape()[0], x.shape()[1]);
    let pool = job.context::<Pool>()?;
    pool.ranges(rows as usize, 22 * width as u64, |rows| {
        let mut row = vec![0.0; width as usize];
        for t in rows.start as i64..rows.end as i64 {
            x.load_row(x.at([t, 0]), x.strides()[1], &mut row);
            row.iter_mut().for_each(|value| *value *= scale);
            let greatest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            // With −∞ for all there is nothing to subtract; exponentials of −∞ are 0, those of NaN stay NaN.
            let base = if greatest == f64::NEG_INFINITY {
                0.0
            } else {
                greatest
            };
            row.iter_mut()
                .for_each(|value| *value = (*value - base).exp());
            let sum: f64 = row.iter().sum();
            for (d, value) in (0..).zip(&row) {
                let share = if sum == 0.0 { 0.0 } else { value / sum };
                out.store(out.at([t, d]), share);
            }
        }
    });
    Ok(())
}

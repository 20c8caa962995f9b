//! The least index of each row's greatest element.

use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::greedy_argmax::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/greedy_argmax/reference",
    op: &OP,
    tier: Reference,
    doc: "element by element, any strides and types",
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.greedy_argmax.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_greedy_argmax_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let rows = launch.call().operand(0)?.dim(0)?;
    launch.run(&BODY, [rows as u32, 1, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let (logits, out) = (job.view(0)?, job.view(1)?);
    let (rows, width) = (logits.shape()[0], logits.shape()[1]);
    let pool = job.context::<Pool>()?;
    pool.ranges(rows as usize, width as u64, |rows| {
        for t in rows.start as i64..rows.end as i64 {
            let mut best = (-1, f64::NAN);
            for v in 0..width {
                let value = logits.load(logits.at([t, v]));
                // Nothing is greater than the NaN that stands for no element yet, which the first number replaces.
                if value > best.1 || best.1.is_nan() && !value.is_nan() {
                    best = (v, value);
                }
            }
            out.store(out.at([t]), best.0 as f64);
        }
    });
    Ok(())
}

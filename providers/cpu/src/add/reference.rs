//! `out = a + b`, element by element, in `f64`.

use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::add::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/add/reference",
    op: &OP,
    tier: Reference,
    doc: "element by element in f64, any strides and types",
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.add.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC | IN_PLACE,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_add_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let rows = launch.call().operand(0)?.dim(0)?;
    launch.run(&BODY, [rows as u32, 1, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let (a, b, out) = (job.view(0)?, job.view(1)?, job.view(2)?);
    let (rows, width) = (out.shape()[0], out.shape()[1]);
    let pool = job.context::<Pool>()?;
    pool.ranges(rows as usize, width as u64, |rows| {
        for t in rows.start as i64..rows.end as i64 {
            for d in 0..width {
                out.store(out.at([t, d]), a.load(a.at([t, d])) + b.load(b.at([t, d])));
            }
        }
    });
    Ok(())
}

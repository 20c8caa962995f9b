//! Rows of the table, decoded, times the scale, in `f64`.

use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::embedding::OP;
use overt_sdk::host::{Body, HostKernel, Job, Launch};
use overt_sdk::{Error, Result};
use parking_lot::Mutex;

overt_sdk::kernel! {
    id: "cpu/embedding/reference",
    op: &OP,
    tier: Reference,
    doc: "row by row in f64, any strides and types",
    handles: ["scale"],
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.embedding.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_embedding_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let rows = launch.call().operand(1)?.dim(0)?;
    launch.run(&BODY, [rows as u32, 1, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let (table, ids, out) = (job.view(0)?, job.view(1)?, job.view(2)?);
    let scale = job.call().attr_f64(0)?;
    let (vocabulary, rows, width) = (table.shape()[0], out.shape()[0], out.shape()[1]);
    let bad = Mutex::new(None);
    let pool = job.context::<Pool>()?;
    pool.ranges(rows as usize, width as u64, |rows| {
        let mut row = vec![0.0; width as usize];
        for t in rows.start as i64..rows.end as i64 {
            let id = ids.load_int(ids.at([t]));
            if !(0..vocabulary).contains(&id) {
                bad.lock().get_or_insert((t, id));
                continue;
            }
            table.load_row(table.at([id, 0]), table.strides()[1], &mut row);
            for (d, value) in (0..).zip(&row) {
                out.store(out.at([t, d]), value * scale);
            }
        }
    });
    match bad.into_inner() {
        None => Ok(()),
        Some((t, id)) => Err(Error::invalid(format!(
            "operand `ids` at [{t}]: {id}; wanted a row of a table of {vocabulary}"
        ))),
    }
}

//! Pairs turned by angles in `f64`.

use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::rope::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/rope/reference",
    op: &OP,
    tier: Reference,
    doc: "pair by pair in f64, any strides and types",
    handles: ["interleaved", "amplitude"],
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    needs: [fact("passed").at_least(0).source("two elements for each frequency")],
    numeric_class: "cpu.rope.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC | IN_PLACE,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_rope_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let x = launch.call().operand(0)?;
    let (rows, heads) = (x.dim(0)?, x.dim(1)?);
    launch.run(&BODY, [rows as u32, heads as u32, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let (x, positions, frequencies, out) = (job.view(0)?, job.view(1)?, job.view(2)?, job.view(3)?);
    let (interleaved, amplitude) = (job.call().attr_bool(0)?, job.call().attr_f64(1)?);
    let (rows, heads, width) = (x.shape()[0], x.shape()[1], x.shape()[2]);
    let pairs = frequencies.shape()[0];
    let pool = job.context::<Pool>()?;
    let steps = 4 * heads * width + 40 * pairs;
    pool.ranges(rows as usize, steps as u64, |rows| {
        let mut turns = vec![(0.0, 0.0); pairs as usize];
        for t in rows.start as i64..rows.end as i64 {
            let position = positions.load_int(positions.at([t])) as f64;
            for (pair, turn) in (0..).zip(&mut turns) {
                *turn = (position * frequencies.load(frequencies.at([pair]))).sin_cos();
            }
            for h in 0..heads {
                for (pair, (sin, cos)) in (0..).zip(&turns) {
                    let (first, second) = if interleaved {
                        (2 * pair, 2 * pair + 1)
                    } else {
                        (pair, pairs + pair)
                    };
                    // Both are read before either is written, since `out` may be the memory of `x`.
                    let (a, b) = (x.load(x.at([t, h, first])), x.load(x.at([t, h, second])));
                    let (sin, cos) = (sin * amplitude, cos * amplitude);
                    out.store(out.at([t, h, first]), a * cos - b * sin);
                    out.store(out.at([t, h, second]), b * cos + a * sin);
                }
                for d in 2 * pairs..width {
                    x.copy_bits(x.at([t, h, d]), &out, out.at([t, h, d]));
                }
            }
        }
    });
    Ok(())
}

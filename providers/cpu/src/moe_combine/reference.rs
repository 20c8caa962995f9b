//! The weighted sum in `f64`, slot by slot.

use super::operands::{OUT, SHARED, WEIGHTS, X};
use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::moe_combine::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/moe_combine/reference",
    op: &OP,
    tier: Reference,
    doc: "token by token in f64, any strides and types",
    handles: ["shared"],
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.moe_combine.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_moe_combine_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let tokens = launch.call().operand(X)?.dim(0)?;
    launch.run(&BODY, [tokens as u32, 1, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let (x, weights, out) = (job.view(X)?, job.view(WEIGHTS)?, job.view(OUT)?);
    let shared = job.optional_view(SHARED)?;
    let (tokens, slots, width) = (x.shape()[0], x.shape()[1], x.shape()[2]);
    let pool = job.context::<Pool>()?;
    pool.ranges(
        tokens as usize,
        (slots + 1) as u64 * width as u64,
        |tokens| {
            let (mut sum, mut row) = (vec![0.0; width as usize], vec![0.0; width as usize]);
            for t in tokens.start as i64..tokens.end as i64 {
                match &shared {
                    Some(shared) => {
                        shared.load_row(shared.at([t, 0]), shared.strides()[1], &mut sum)
                    }
                    None => sum.fill(0.0),
                }
                for s in 0..slots {
                    let weight = weights.load(weights.at([t, s]));
                    x.load_row(x.at([t, s, 0]), x.strides()[2], &mut row);
                    for (sum, value) in sum.iter_mut().zip(&row) {
                        *sum += weight * value;
                    }
                }
                out.store_row(out.at([t, 0]), out.strides()[1], &sum);
            }
        },
    );
    Ok(())
}

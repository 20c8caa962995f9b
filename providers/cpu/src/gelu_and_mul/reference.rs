//! `gelu` of the first half of each row times the second half, in `f64`.

use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::gelu_and_mul::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/gelu_and_mul/reference",
    op: &OP,
    tier: Reference,
    doc: "element by element in f64, any strides and types",
    handles: ["erf"],
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.gelu_and_mul.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_gelu_and_mul_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let rows = launch.call().operand(1)?.dim(0)?;
    launch.run(&BODY, [rows as u32, 1, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let (x, out) = (job.view(0)?, job.view(1)?);
    let erf = job.call().attr_bool(0)?;
    let (rows, width) = (out.shape()[0], out.shape()[1]);
    let pool = job.context::<Pool>()?;
    // An exponential costs about as much as twenty multiply-adds, and the normal distribution as two or three.
    pool.ranges(rows as usize, 40 * width as u64, |rows| {
        for t in rows.start as i64..rows.end as i64 {
            for d in 0..width {
                let gate = x.load(x.at([t, d]));
                let up = x.load(x.at([t, width + d]));
                let share = if erf {
                    cumulative(gate)
                } else {
                    // (1 + tanh y) / 2 = 1 / (1 + exp(-2y)), which does not cancel.
                    let y = (2.0 / std::f64::consts::PI).sqrt()
                        * (gate + 0.044715 * gate * gate * gate);
                    1.0 / (1.0 + (-2.0 * y).exp())
                };
                out.store(out.at([t, d]), gate * share * up);
            }
        }
    });
    Ok(())
}

/// The normal distribution's cumulative function: a Taylor series of φ's integral in the middle, and in the tail the continued
/// fraction of Mills' ratio.
fn cumulative(x: f64) -> f64 {
    let density = (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let size = x.abs();
    let tail = if size < 3.0 {
        // Φ(x) - 1/2 = φ(x) · (x + x³/3 + x⁵/15 + …), all terms of one sign.
        let (mut term, mut sum, mut odd) = (size, size, 3.0);
        while term > sum * 1e-17 {
            term *= size * size / odd;
            sum += term;
            odd += 2.0;
        }
        0.5 - density * sum
    } else {
        let ratio = (1..=100)
            .rev()
            .fold(size, |below, n| size + f64::from(n) / below);
        density / ratio
    };
    if x < 0.0 { tail } else { 1.0 - tail }
}

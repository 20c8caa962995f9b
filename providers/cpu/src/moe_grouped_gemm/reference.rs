//! The products in `f64`, expert by expert.

use super::operands::{A, B, B_SCALE, BIAS, OUT, ROUNDED, SCALE_DEPTH, SCALE_ROWS};
use super::sorted::Sorted;
use crate::images::PORTABLE;
use crate::matmul_bt::{Scales, dot, round_row};
use crate::pool::Pool;
use overt_kernels::ops::moe_grouped_gemm::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/moe_grouped_gemm/reference",
    op: &OP,
    tier: Reference,
    doc: "expert by expert in f64, any strides, types and scales",
    handles: ["bias", "b_scale", "scale_rows", "scale_depth", "int8_activations"],
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.moe_grouped_gemm.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_moe_grouped_gemm_reference",
    image: &PORTABLE,
    run,
};

/// Rows that are widened at a time: with a K of 16,384 they take 4 MiB.
const ROWS: usize = 32;

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let (tokens, rows) = {
        let call = launch.call();
        (call.operand(A)?.dim(0)?, call.operand(B)?.dim(1)?)
    };
    launch.run(&BODY, [rows as u32, tokens as u32, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let (a, b, out) = (job.view(A)?, job.view(B)?, job.view(OUT)?);
    let bias = job.optional_view(BIAS)?;
    let scales = Scales {
        view: job.optional_view(B_SCALE)?,
        rows: job.call().attr_i64(SCALE_ROWS)?,
        depth: job.call().attr_i64(SCALE_DEPTH)?,
    };
    let rounded = job.call().attr_bool(ROUNDED)?;
    let sorted = Sorted::of(job)?;
    let (n, k) = (b.shape()[1], b.shape()[2] as usize);
    let index = |i: usize| i as i64;
    for slot in &sorted.none {
        for j in 0..n {
            out.store(out.at([index(slot.token), index(slot.slot), j]), 0.0);
        }
    }
    let pool = job.context::<Pool>()?;
    let mut rows = vec![0.0; k * ROWS];
    for (expert, numbers) in sorted.experts() {
        let expert = index(expert);
        for part in sorted.slots(numbers).chunks(ROWS) {
            for (i, slot) in part.iter().enumerate() {
                let row = &mut rows[k * i..k * (i + 1)];
                let at = a.at([index(slot.token), index(slot.slot), 0]);
                a.load_row(at, a.strides()[2], row);
                if rounded {
                    round_row(row);
                }
            }
            let rows = &rows;
            pool.ranges(n as usize, (part.len() * k) as u64, |columns| {
                let mut column = vec![0.0; k];
                for j in columns.start as i64..columns.end as i64 {
                    b.load_row(b.at([expert, j, 0]), b.strides()[2], &mut column);
                    scales.apply(&[expert], j, &mut column);
                    let start = bias
                        .as_ref()
                        .map_or(0.0, |bias| bias.load(bias.at([expert, j])));
                    for (i, slot) in part.iter().enumerate() {
                        let sum = start + dot(&rows[k * i..k * (i + 1)], &column);
                        out.store(out.at([index(slot.token), index(slot.slot), j]), sum);
                    }
                }
            });
        }
    }
    Ok(())
}

//! A token of each row from its sorted elements, in `f64`.

use super::philox::uniform;
use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::sample::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/sample/reference",
    op: &OP,
    tier: Reference,
    doc: "sorts each row, in f64, any strides and types",
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.sample.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_sample_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let rows = launch.call().operand(0)?.dim(0)?;
    launch.run(&BODY, [rows as u32, 1, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let (logits, temperature, top_k) = (job.view(0)?, job.view(1)?, job.view(2)?);
    let (top_p, min_p, seed, draw) = (job.view(3)?, job.view(4)?, job.view(5)?, job.view(6)?);
    let out = job.view(7)?;
    let (rows, width) = (logits.shape()[0], logits.shape()[1]);
    let pool = job.context::<Pool>()?;
    // An exponential, and comparisons by the logarithm of the row's length.
    pool.ranges(rows as usize, 40 * width as u64, |rows| {
        for t in rows.start as i64..rows.end as i64 {
            let mut row: Vec<Token> = (0..width)
                .map(|index| Token {
                    index,
                    value: logits.load(logits.at([t, index])),
                })
                .filter(|token| !token.value.is_nan())
                .collect();
            row.sort_unstable_by(|a, b| b.value.total_cmp(&a.value).then(a.index.cmp(&b.index)));
            even_out_zeros(&mut row);
            let token = pick(
                &row,
                temperature.load(temperature.at([t])),
                top_k.load_int(top_k.at([t])),
                top_p.load(top_p.at([t])),
                min_p.load(min_p.at([t])),
                uniform(seed.load_int(seed.at([t])), draw.load_int(draw.at([t]))),
            );
            out.store(out.at([t]), token as f64);
        }
    });
    Ok(())
}

struct Token {
    index: i64,
    value: f64,
}

/// A total order puts +0 before -0, which are equal.
fn even_out_zeros(row: &mut [Token]) {
    let start = row.partition_point(|token| token.value > 0.0);
    let zeros = row[start..].partition_point(|token| token.value == 0.0);
    row[start..start + zeros].sort_unstable_by_key(|token| token.index);
}

/// The token of a row in descending order; -1 for none.
fn pick(row: &[Token], temperature: f64, top_k: i64, top_p: f64, min_p: f64, uniform: f64) -> i64 {
    let Some(first) = row.first() else {
        return -1;
    };
    // Written so that a NaN, which the op rules out, is greedy too.
    let warm = temperature > 0.0;
    if !warm || first.value == f64::NEG_INFINITY {
        return first.index;
    }
    let mut count = row.len();
    if top_k > 0 {
        count = count.min(top_k as usize);
    }
    let mut kept: Vec<(i64, f64)> = row[..count]
        .iter()
        .map(|token| {
            let below = token.value - first.value;
            // Infinities of one sign have no difference, and are equal.
            let below = if below.is_nan() { 0.0 } else { below };
            (token.index, (below / temperature).exp())
        })
        .collect();
    if top_p < 1.0 {
        let wanted = top_p * kept.iter().map(|(_, weight)| weight).sum::<f64>();
        let mut sum = 0.0;
        let reached = kept.iter().position(|(_, weight)| {
            sum += weight;
            sum >= wanted
        });
        kept.truncate(reached.map_or(count, |last| last + 1));
    }
    // The first weighs 1, the most.
    kept.retain(|(_, weight)| *weight >= min_p.min(1.0));
    kept.sort_unstable_by_key(|(index, _)| *index);
    let wanted = uniform * kept.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut sum = 0.0;
    let drawn = kept.iter().find(|(_, weight)| {
        sum += weight;
        sum > wanted
    });
    // The product can round up to the sum; the last that has any weight is meant then.
    drawn
        .or_else(|| kept.iter().rfind(|(_, weight)| *weight > 0.0))
        .map_or(first.index, |(index, _)| *index)
}

//! The product in `f64`, eight partial sums an element.

use super::operands::{A, B, B_SCALE, BIAS, OUT, ROUNDED, SCALE_DEPTH, SCALE_ROWS};
use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::matmul_bt::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, HostView, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/matmul_bt/reference",
    op: &OP,
    tier: Reference,
    doc: "dot products in f64, any strides, types and scales",
    handles: ["bias", "b_scale", "scale_rows", "scale_depth", "int8_activations"],
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.matmul_bt.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_matmul_bt_reference",
    image: &PORTABLE,
    run,
};

/// Rows of `a` that are widened at a time: with a K of 16,384 they take 4 MiB.
const ROWS: i64 = 32;
/// Partial sums of one element, added pairwise at the end. Their number is fixed, so an element's value does not depend on
/// the call's other rows.
const LANES: usize = 8;

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let columns = launch.call().operand(B)?.dim(0)?;
    launch.run(&BODY, [columns as u32, 1, 1])
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
    let (m, k, n) = (a.shape()[0], a.shape()[1], b.shape()[0]);
    let pool = job.context::<Pool>()?;
    let width = k as usize;
    let mut rows = vec![0.0; width * m.min(ROWS) as usize];
    for first in (0..m).step_by(ROWS as usize) {
        let count = (m - first).min(ROWS);
        for i in 0..count {
            let row = &mut rows[width * i as usize..width * (i + 1) as usize];
            a.load_row(a.at([first + i, 0]), a.strides()[1], row);
            if rounded {
                round_row(row);
            }
        }
        let rows = &rows;
        pool.ranges(n as usize, (count * k) as u64, |columns| {
            let mut column = vec![0.0; width];
            for j in columns.start as i64..columns.end as i64 {
                b.load_row(b.at([j, 0]), b.strides()[1], &mut column);
                scales.apply(&[], j, &mut column);
                let start = bias.as_ref().map_or(0.0, |bias| bias.load(bias.at([j])));
                for i in 0..count {
                    let row = &rows[width * i as usize..width * (i + 1) as usize];
                    out.store(out.at([first + i, j]), start + dot(row, &column));
                }
            }
        });
    }
    Ok(())
}

/// Scales of a weight, if it has any.
pub(crate) struct Scales<'a> {
    pub(crate) view: Option<HostView<'a>>,
    pub(crate) rows: i64,
    pub(crate) depth: i64,
}

impl Scales<'_> {
    /// Multiplies the decoded row `n` of the matrix that `matrix` selects, which is empty for a weight of one matrix.
    pub(crate) fn apply(&self, matrix: &[i64], n: i64, row: &mut [f64]) {
        let Some(view) = &self.view else {
            return;
        };
        let strides = view.strides();
        let (along, across) = (strides[matrix.len()], strides[matrix.len() + 1]);
        let start: i64 = matrix.iter().zip(strides).map(|(i, s)| i * s).sum();
        // The host has held the extents against these attributes, so they are positive where there is a row to scale.
        let start = start + n / self.rows * along;
        for (j, part) in (0..).zip(row.chunks_mut(self.depth as usize)) {
            let scale = view.load(start + j * across);
            part.iter_mut().for_each(|value| *value *= scale);
        }
    }
}

/// Rounds activations to 8 bits in blocks of 32, in the f32 steps that the op states.
pub(crate) fn round_row(row: &mut [f64]) {
    for block in row.chunks_mut(32) {
        let mut amax = 0f32;
        for x in block.iter() {
            amax = amax.max((*x as f32).abs());
        }
        let (id, d) = if amax > 0.0 {
            (127.0 / amax, amax / 127.0)
        } else {
            (0.0, 0.0)
        };
        for x in block {
            *x = f64::from((*x as f32 * id).round_ties_even()) * f64::from(d);
        }
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (a_whole, b_whole) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let (a_rest, b_rest) = (a_whole.remainder(), b_whole.remainder());
    for (x, y) in a_whole.zip(b_whole) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    for (lane, (x, y)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[lane] += x * y;
    }
    let [s0, s1, s2, s3, s4, s5, s6, s7] = sums;
    ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
}

//! The right answer.

use crate::host::HostCall;
use crate::op::Want;
use crate::ops::support::{View, f64_attr};

pub(super) fn oracle(call: &HostCall, _: usize, want: &Want) -> Vec<f64> {
    let (x, weight) = (View::of(call, "x"), View::of(call, "weight"));
    let (eps, offset) = (f64_attr(call, "eps"), f64_attr(call, "weight_offset"));
    let (rows, width) = (x.shape[0] as u64, x.shape[1] as u64);
    let mut row = vec![0.0; width as usize];
    let mut current = None;
    let mut factor = 0.0;
    want.indices(rows * width)
        .map(|flat| {
            let (t, d) = ((flat / width) as i64, flat % width);
            if current != Some(t) {
                x.row(&[t], &mut row);
                let squares: f64 = row.iter().map(|v| v * v).sum();
                factor = (squares / width as f64 + eps).sqrt();
                current = Some(t);
            }
            row[d as usize] * (weight.at(&[d as i64]) + offset) / factor
        })
        .collect()
}

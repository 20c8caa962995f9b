//! The right answer.

use crate::host::HostCall;
use crate::op::Want;
use crate::ops::support::View;

pub(super) fn oracle(call: &HostCall, _: usize, want: &Want) -> Vec<f64> {
    let logits = View::of(call, "logits");
    let mut row = vec![0.0; logits.shape[1] as usize];
    want.indices(logits.shape[0] as u64)
        .map(|t| {
            logits.row(&[t as i64], &mut row);
            let mut best: Option<usize> = None;
            for (i, value) in row.iter().enumerate() {
                if !value.is_nan() && best.is_none_or(|b| *value > row[b]) {
                    best = Some(i);
                }
            }
            best.map_or(-1.0, |i| i as f64)
        })
        .collect()
}

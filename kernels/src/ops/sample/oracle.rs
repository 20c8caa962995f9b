//! The right answer.

use super::distribution::{Parameters, draw, order};
use super::philox::uniform;
use crate::host::HostCall;
use crate::op::Want;
use crate::ops::support::View;

pub(super) fn oracle(call: &HostCall, _: usize, want: &Want) -> Vec<f64> {
    let logits = View::of(call, "logits");
    let mut row = vec![0.0; logits.shape[1] as usize];
    want.indices(logits.shape[0] as u64)
        .map(|t| {
            let t = t as i64;
            logits.row(&[t], &mut row);
            draw(&row, &order(&row), &parameters(call, t)).token as f64
        })
        .collect()
}

/// The parameters of row `t`.
pub(super) fn parameters(call: &HostCall, t: i64) -> Parameters {
    let float = |name| View::of(call, name).at(&[t]);
    let integer = |name| View::of(call, name).integer(&[t]);
    Parameters {
        temperature: float("temperature"),
        top_k: integer("top_k"),
        top_p: float("top_p"),
        min_p: float("min_p"),
        uniform: uniform(integer("seed"), integer("draw")),
    }
}

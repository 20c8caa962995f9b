//! The right answer.

use super::problem::Rule;
use crate::host::HostCall;
use crate::op::Want;
use crate::ops::support::View;

pub(super) fn oracle(call: &HostCall, output: usize, want: &Want) -> Vec<f64> {
    let rule = Rule::of(call);
    let logits = View::of(call, "logits");
    let out = View::number(call, output);
    let weights = call.schema.operand("weights") == Some(output);
    let width = out.shape[1] as u64;
    let mut row = vec![0.0; logits.shape[1] as usize];
    let mut current = None;
    want.indices(out.len())
        .map(|flat| {
            let (t, s) = ((flat / width) as i64, (flat % width) as usize);
            if current.as_ref().is_none_or(|(of, _)| *of != t) {
                logits.row(&[t], &mut row);
                current = Some((t, rule.choose(&row)));
            }
            let choice = &current.as_ref().expect("just made").1;
            if weights {
                choice.weights[s]
            } else {
                choice.order[s] as f64
            }
        })
        .collect()
}

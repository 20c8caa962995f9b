//! The right answer.

use super::normal;
use crate::host::HostCall;
use crate::op::Want;
use crate::ops::support::{View, bool_attr};

pub(super) fn oracle(call: &HostCall, output: usize, want: &Want) -> Vec<f64> {
    let (x, out) = (View::of(call, "x"), View::number(call, output));
    let erf = bool_attr(call, "erf");
    let width = out.shape[1];
    want.indices(out.len())
        .map(|flat| {
            let (t, d) = ((flat / width as u64) as i64, (flat % width as u64) as i64);
            let (gate, up) = (x.at(&[t, d]), x.at(&[t, width + d]));
            let share = if erf {
                normal::cumulative(gate)
            } else {
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (gate + 0.044715 * gate.powi(3));
                1.0 / (1.0 + (-2.0 * inner).exp())
            };
            gate * share * up
        })
        .collect()
}

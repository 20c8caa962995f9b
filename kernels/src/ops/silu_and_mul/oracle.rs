//! The right answer.

use crate::host::HostCall;
use crate::op::Want;
use crate::ops::support::View;

pub(super) fn oracle(call: &HostCall, output: usize, want: &Want) -> Vec<f64> {
    let (x, out) = (View::of(call, "x"), View::number(call, output));
    let width = out.shape[1];
    want.indices(out.len())
        .map(|flat| {
            let (t, d) = ((flat / width as u64) as i64, (flat % width as u64) as i64);
            let (gate, up) = (x.at(&[t, d]), x.at(&[t, width + d]));
            silu(gate) * up
        })
        .collect()
}

/// For a negative gate the exponential of its absolute value would overflow first; this form stays finite over all of f64's
/// useful range.
fn silu(gate: f64) -> f64 {
    if gate >= 0.0 {
        gate / (1.0 + (-gate).exp())
    } else {
        let e = gate.exp();
        gate * e / (1.0 + e)
    }
}

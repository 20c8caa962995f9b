//! The right answer.

use crate::host::HostCall;
use crate::op::Want;
use crate::ops::support::View;

pub(super) fn oracle(call: &HostCall, _: usize, want: &Want) -> Vec<f64> {
    let (a, b) = (View::of(call, "a"), View::of(call, "b"));
    let width = a.shape[1] as u64;
    want.indices(a.len())
        .map(|flat| {
            let index = [(flat / width) as i64, (flat % width) as i64];
            a.at(&index) + b.at(&index)
        })
        .collect()
}

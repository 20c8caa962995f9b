//! The right answer.

use crate::host::HostCall;
use crate::op::Want;
use crate::ops::support::View;

pub(super) fn oracle(call: &HostCall, _: usize, want: &Want) -> Vec<f64> {
    let x = View::of(call, "x");
    want.indices(1)
        .map(|_| (0..x.shape[0]).map(|i| x.at(&[i])).sum())
        .collect()
}

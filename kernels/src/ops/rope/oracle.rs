//! The right answer.

use crate::host::HostCall;
use crate::op::Want;
use crate::ops::support::{View, bool_attr, f64_attr};

pub(super) fn oracle(call: &HostCall, output: usize, want: &Want) -> Vec<f64> {
    let (x, positions, frequencies, out) = (
        View::of(call, "x"),
        View::of(call, "positions"),
        View::of(call, "inv_freq"),
        View::number(call, output),
    );
    let interleaved = bool_attr(call, "interleaved");
    let amplitude = f64_attr(call, "amplitude");
    let [_, heads, width] = [0, 1, 2].map(|d| out.shape[d] as u64);
    let pairs = frequencies.shape[0];
    want.indices(out.len())
        .map(|flat| {
            let d = (flat % width) as i64;
            let h = (flat / width % heads) as i64;
            let t = (flat / width / heads) as i64;
            let here = x.at(&[t, h, d]);
            if d >= 2 * pairs {
                return here;
            }
            let (pair, first) = if interleaved {
                (d / 2, d % 2 == 0)
            } else {
                (d % pairs, d < pairs)
            };
            let apart = if interleaved { 1 } else { pairs };
            let (sin, cos) = (positions.integer(&[t]) as f64 * frequencies.at(&[pair])).sin_cos();
            let (sin, cos) = (sin * amplitude, cos * amplitude);
            if first {
                here * cos - x.at(&[t, h, d + apart]) * sin
            } else {
                here * cos + x.at(&[t, h, d - apart]) * sin
            }
        })
        .collect()
}

//! The right answer.

use crate::host::HostCall;
use crate::op::Want;
use crate::ops::matmul_bt::{Weights, activations};
use crate::ops::support::{View, bool_attr};

pub(super) fn oracle(call: &HostCall, output: usize, want: &Want) -> Vec<f64> {
    let (a, chosen) = (View::of(call, "a"), View::of(call, "experts"));
    let bias = View::optional(call, "bias");
    let out = View::number(call, output);
    let (slots, columns) = (out.shape[1] as u64, out.shape[2] as u64);
    let rounded = bool_attr(call, "int8_activations");
    let mut weights = Weights::of(call, matches!(want, Want::All));
    let mut a_row = vec![0.0; a.shape[2] as usize];
    let mut current = None;
    want.indices(out.len())
        .map(|flat| {
            let n = (flat % columns) as i64;
            let [t, s] = [flat / columns / slots, flat / columns % slots].map(|i| i as i64);
            let expert = chosen.integer(&[t, s]);
            if expert < 0 {
                return 0.0;
            }
            if current != Some((t, s)) {
                a.row(&[t, s], &mut a_row);
                if rounded {
                    activations(&mut a_row);
                }
                current = Some((t, s));
            }
            let b_row = weights.row(expert, n);
            let sum: f64 = a_row.iter().zip(b_row).map(|(x, y)| x * y).sum();
            sum + bias.as_ref().map_or(0.0, |bias| bias.at(&[expert, n]))
        })
        .collect()
}

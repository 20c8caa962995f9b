//! The right answer.

use super::rounded::activations;
use crate::host::HostCall;
use crate::op::Want;
use crate::ops::support::{View, bool_attr, i64_attr};

/// Most elements of `b` that are decoded ahead; beyond it rows of `b` are decoded as they are needed.
const DECODE_AHEAD: u64 = 1 << 22;

/// Rows of a weight, scaled: decoded all at once where they are few, else one at a time.
pub(crate) struct Weights<'a> {
    b: View<'a>,
    scale: Option<View<'a>>,
    scale_rows: i64,
    scale_depth: i64,
    ahead: Vec<f64>,
    row: Vec<f64>,
}

impl<'a> Weights<'a> {
    /// The operands `b` and `b_scale`, whose last two dimensions are rows and depth; any before them select a matrix.
    /// `all`: every row will be asked for, most of them more than once.
    pub(crate) fn of(call: &'a HostCall, all: bool) -> Self {
        let b = View::of(call, "b");
        let depth = b.shape[b.shape.len() - 1] as usize;
        let mut weights = Weights {
            scale: View::optional(call, "b_scale"),
            scale_rows: i64_attr(call, "scale_rows"),
            scale_depth: i64_attr(call, "scale_depth"),
            ahead: Vec::new(),
            row: vec![0.0; depth],
            b,
        };
        if all && weights.b.len() <= DECODE_AHEAD && depth > 0 {
            let shape = &weights.b.shape[..weights.b.shape.len() - 1];
            let rows: i64 = shape.iter().product();
            let columns = *shape.last().unwrap_or(&1);
            let mut ahead = Vec::with_capacity(rows as usize * depth);
            for row in 0..rows {
                weights.decode(row / columns.max(1), row % columns.max(1));
                ahead.extend_from_slice(&weights.row);
            }
            weights.ahead = ahead;
        }
        weights
    }

    /// The row `n` of matrix `e`.
    pub(crate) fn row(&mut self, e: i64, n: i64) -> &[f64] {
        if self.ahead.is_empty() {
            self.decode(e, n);
            return &self.row;
        }
        let depth = self.row.len();
        let rows = self.b.shape[self.b.shape.len() - 2];
        let first = (e * rows + n) as usize * depth;
        &self.ahead[first..first + depth]
    }

    fn decode(&mut self, e: i64, n: i64) {
        let matrices = self.b.shape.len() > 2;
        let index = |of: i64| if matrices { vec![e, of] } else { vec![of] };
        self.b.row(&index(n), &mut self.row);
        if let Some(scale) = &self.scale {
            let mut at = index(n / self.scale_rows);
            at.push(0);
            let last = at.len() - 1;
            for (k, value) in self.row.iter_mut().enumerate() {
                at[last] = k as i64 / self.scale_depth;
                *value *= scale.at(&at);
            }
        }
    }
}

pub(super) fn oracle(call: &HostCall, output: usize, want: &Want) -> Vec<f64> {
    let a = View::of(call, "a");
    let bias = View::optional(call, "bias");
    let out = View::number(call, output);
    let columns = out.shape[1] as u64;
    let rounded = bool_attr(call, "int8_activations");
    let mut weights = Weights::of(call, matches!(want, Want::All));
    let mut a_row = vec![0.0; a.shape[1] as usize];
    let mut current = None;
    want.indices(out.len())
        .map(|flat| {
            let (m, n) = ((flat / columns) as i64, (flat % columns) as i64);
            if current != Some(m) {
                a.row(&[m], &mut a_row);
                if rounded {
                    activations(&mut a_row);
                }
                current = Some(m);
            }
            let b_row = weights.row(0, n);
            let sum: f64 = a_row.iter().zip(b_row).map(|(x, y)| x * y).sum();
            sum + bias.as_ref().map_or(0.0, |bias| bias.at(&[n]))
        })
        .collect()
}

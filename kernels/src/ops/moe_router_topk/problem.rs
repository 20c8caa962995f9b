//! One row taken apart.

use crate::host::HostCall;
use crate::ops::support::{View, bool_attr, f64_attr, i64_attr, symbol};
use std::cmp::Ordering;

/// What does not change from row to row.
pub(super) struct Rule {
    pub sigmoid: bool,
    pub groups: usize,
    pub top_groups: usize,
    pub group_score: usize,
    pub renormalise: bool,
    pub scale: f64,
    pub wanted: usize,
    /// One for each expert.
    pub bias: Vec<f64>,
}

/// The answer for one row.
pub(super) struct Choice {
    /// All experts, in descending order of score plus bias; those of groups that were not chosen are left out.
    pub order: Vec<usize>,
    /// Groups in descending order.
    pub group_order: Vec<usize>,
    /// Score plus bias of each expert.
    pub keys: Vec<f64>,
    /// Weights of the first `wanted`.
    pub weights: Vec<f64>,
}

impl Rule {
    pub fn of(call: &HostCall) -> Self {
        let experts = symbol(call, "E");
        let bias = View::optional(call, "bias");
        let count = |name| usize::try_from(i64_attr(call, name)).unwrap_or(0);
        Rule {
            sigmoid: bool_attr(call, "sigmoid"),
            groups: count("groups"),
            top_groups: count("top_groups"),
            group_score: count("group_score"),
            renormalise: bool_attr(call, "renormalise"),
            scale: f64_attr(call, "scale"),
            wanted: symbol(call, "S").max(0) as usize,
            bias: (0..experts)
                .map(|e| bias.as_ref().map_or(0.0, |b| b.at(&[e])))
                .collect(),
        }
    }

    fn scores(&self, logits: &[f64]) -> Vec<f64> {
        if self.sigmoid {
            return logits.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect();
        }
        let greatest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let exps: Vec<f64> = logits.iter().map(|x| (x - greatest).exp()).collect();
        let total: f64 = exps.iter().sum();
        exps.iter().map(|e| e / total).collect()
    }

    /// The members of group `g`.
    pub fn members(&self, g: usize) -> std::ops::Range<usize> {
        let size = self.bias.len() / self.groups.max(1);
        g * size..(g + 1) * size
    }

    /// The experts whose keys make up the score of group `g`, greatest first.
    pub fn counted(&self, keys: &[f64], g: usize) -> Vec<usize> {
        let mut members: Vec<usize> = self.members(g).collect();
        members.sort_by(|&a, &b| descending(keys, a, b));
        members.truncate(self.group_score);
        members
    }

    pub fn choose(&self, logits: &[f64]) -> Choice {
        let scores = self.scores(logits);
        let keys: Vec<f64> = scores.iter().zip(&self.bias).map(|(s, b)| s + b).collect();
        let group_scores: Vec<f64> = (0..self.groups)
            .map(|g| self.counted(&keys, g).iter().map(|&e| keys[e]).sum())
            .collect();
        let mut group_order: Vec<usize> = (0..self.groups).collect();
        group_order.sort_by(|&a, &b| descending(&group_scores, a, b));
        let mut order: Vec<usize> = group_order
            .iter()
            .take(self.top_groups)
            .flat_map(|&g| self.members(g))
            .collect();
        order.sort_by(|&a, &b| descending(&keys, a, b));
        let mut weights: Vec<f64> = order.iter().take(self.wanted).map(|&e| scores[e]).collect();
        let sum: f64 = weights.iter().sum();
        let factor = if self.renormalise && sum > 0.0 {
            self.scale / sum
        } else {
            self.scale
        };
        weights.iter_mut().for_each(|w| *w *= factor);
        Choice {
            order,
            group_order,
            keys,
            weights,
        }
    }
}

/// The greater first, of equal ones that of the lower index.
fn descending(keys: &[f64], a: usize, b: usize) -> Ordering {
    keys[b].total_cmp(&keys[a]).then(a.cmp(&b))
}

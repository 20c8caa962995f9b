//! Seeded contents in which no rounding decides.

use super::problem::{Choice, Rule};
use crate::host::HostCall;
use crate::ops::support::{Random, View, symbol};

/// Rows that are tried for one that no rounding decides.
const TRIES: u64 = 400;

/// What a comparison is apart, as a share of the scores compared: f32 is off by some 2^-20 of a score.
const SCORE_MARGIN: f64 = 1e-4;
/// And as a share of the biases: the sum with a score rounds by 2^-24 of it.
const BIAS_MARGIN: f64 = 1e-6;

/// Biases from a short list, so that experts with equal logits are often equal.
const BIASES: [f64; 5] = [0.0, 0.125, -0.0625, 0.03125, 0.0];

/// Kinds of rows, in turn: spread out, on a coarse grid (many exactly equal), all equal, some −∞, nearly flat, far apart.
const KINDS: i64 = 6;

pub(super) fn fill(call: &mut HostCall, seed: u64) {
    let mut random = Random::new(seed, 1);
    if let Some(bias) = call.operand_mut("bias") {
        bias.fill_with(|| BIASES[random.below(BIASES.len() as u64) as usize])
            .unwrap_or_else(|e| panic!("operand `bias`: {e}"));
    }
    let rule = Rule::of(call);
    let (tokens, experts) = (symbol(call, "T"), symbol(call, "E") as usize);
    for t in 0..tokens {
        let mut random = Random::new(seed, 100 + t as u64);
        let mut best: Option<(f64, Vec<f64>)> = None;
        for _ in 0..TRIES {
            let row = row(&mut random, t + seed as i64 % KINDS, experts, rule.sigmoid);
            let stored = store(call, t, &row);
            let margin = margin(&rule, &stored, &rule.choose(&stored));
            if best.as_ref().is_none_or(|(before, _)| margin > *before) {
                best = Some((margin, row));
            }
            if margin >= 1.0 {
                break;
            }
        }
        if let Some((_, row)) = best {
            store(call, t, &row);
        }
    }
}

fn row(random: &mut Random, number: i64, experts: usize, sigmoid: bool) -> Vec<f64> {
    // At least one is finite, whatever the kind.
    let finite = random.below(experts.max(1) as u64) as usize;
    (0..experts)
        .map(|e| {
            let value = random.signed();
            match number.rem_euclid(KINDS) {
                1 => (value * 4.0).round() / 2.0,
                2 => 0.75,
                3 if e != finite && random.below(3) == 0 => f64::NEG_INFINITY,
                4 => value / 4.0,
                // Where a sigmoid is nearly 1, it tells nothing apart.
                5 if sigmoid => value * 3.0 - 3.0,
                5 => value * 12.0,
                _ => value * 4.0,
            }
        })
        .collect()
}

/// Writes a row and answers what its type made of it.
fn store(call: &mut HostCall, t: i64, row: &[f64]) -> Vec<f64> {
    if let Some(logits) = call.operand_mut("logits") {
        logits
            .set_row(&[t], row)
            .unwrap_or_else(|e| panic!("operand `logits`: {e}"));
    }
    let mut stored = vec![0.0; row.len()];
    View::of(call, "logits").row(&[t], &mut stored);
    stored
}

/// How far the nearest comparison is from being decided by rounding: at least 1 is far enough.
fn margin(rule: &Rule, logits: &[f64], choice: &Choice) -> f64 {
    let experts_apart = |a: usize, b: usize| {
        // Equal in all that goes in: whatever a kernel computes of one it computes of the other.
        if logits[a] == logits[b] && rule.bias[a] == rule.bias[b] {
            return f64::INFINITY;
        }
        apart(rule, choice, &[a], &[b])
    };
    let mut least = f64::INFINITY;
    // Every neighbour among those that are chosen, and the first that is not.
    for pair in choice.order.windows(2).take(rule.wanted) {
        least = least.min(experts_apart(pair[0], pair[1]));
    }
    if rule.top_groups == 0 || rule.top_groups >= rule.groups {
        return least;
    }
    let counted: Vec<Vec<usize>> = (0..rule.groups)
        .map(|g| rule.counted(&choice.keys, g))
        .collect();
    let (chosen, left) = choice.group_order.split_at(rule.top_groups);
    for &a in chosen {
        for &b in left {
            let same = counted[a]
                .iter()
                .zip(&counted[b])
                .all(|(&x, &y)| logits[x] == logits[y] && rule.bias[x] == rule.bias[y]);
            if !same {
                least = least.min(apart(rule, choice, &counted[a], &counted[b]));
            }
        }
    }
    least
}

/// The difference of two sums of keys, as a multiple of what it must be.
fn apart(rule: &Rule, choice: &Choice, a: &[usize], b: &[usize]) -> f64 {
    let sum = |of: &[usize]| of.iter().map(|&e| choice.keys[e]).sum::<f64>();
    let needed: f64 = a
        .iter()
        .chain(b)
        .map(|&e| {
            let score = (choice.keys[e] - rule.bias[e]).abs();
            score * SCORE_MARGIN + rule.bias[e].abs() * BIAS_MARGIN
        })
        .sum();
    let difference = (sum(a) - sum(b)).abs();
    // Scores of 0 alone: exactly equal, in any kernel.
    if needed == 0.0 && difference == 0.0 {
        return f64::INFINITY;
    }
    difference / needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn no_choice_hangs_on_rounding_and_ties_occur() {
        let op = &super::super::OP;
        let schema = Arc::new(op.parse().unwrap());
        let (mut ties, mut rows) = (0, 0);
        for (seed, geometry) in (op.geometries)().iter().enumerate() {
            let mut call = HostCall::from_geometry(&schema, geometry).unwrap();
            fill(&mut call, seed as u64);
            let rule = Rule::of(&call);
            let mut logits = vec![0.0; symbol(&call, "E") as usize];
            for t in 0..symbol(&call, "T") {
                View::of(&call, "logits").row(&[t], &mut logits);
                let choice = rule.choose(&logits);
                let margin = margin(&rule, &logits, &choice);
                assert!(margin >= 1.0, "{} row {t}: {margin}", geometry.name);
                let tied = choice.order.windows(2).take(rule.wanted);
                ties += tied
                    .filter(|p| choice.keys[p[0]] == choice.keys[p[1]])
                    .count();
                rows += 1;
            }
        }
        assert!(rows > 300 && ties > 200, "{rows} rows, {ties} ties");
    }
}

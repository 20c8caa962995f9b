//! Scores in `f64`, and the greatest found one after another.

use super::problem::{BIAS, EXPERTS, LOGITS, Rule, WEIGHTS};
use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::moe_router_topk::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, Job, Launch};

overt_sdk::kernel! {
    id: "cpu/moe_router_topk/reference",
    op: &OP,
    tier: Reference,
    doc: "token by token in f64, the whole schema",
    handles: ["bias", "sigmoid", "groups", "top_groups", "group_score", "renormalise", "scale"],
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.moe_router_topk.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_moe_router_topk_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let tokens = launch.call().operand(LOGITS)?.dim(0)?;
    launch.run(&BODY, [tokens as u32, 1, 1])
}

fn run(job: &Job<'_>) -> Result<()> {
    let rule = Rule::of(job)?;
    let logits = job.view(LOGITS)?;
    let (weights, experts) = (job.view(WEIGHTS)?, job.view(EXPERTS)?);
    let mut bias = vec![0.0; rule.experts];
    if let Some(view) = job.optional_view(BIAS)? {
        view.load_row(0, view.strides()[0], &mut bias);
    }
    let steps = (30 + 2 * rule.wanted) as u64 * rule.experts as u64;
    job.context::<Pool>()?.ranges(rule.tokens, steps, |tokens| {
        let mut scores = vec![0.0; rule.experts];
        for t in tokens.start as i64..tokens.end as i64 {
            logits.load_row(logits.at([t, 0]), logits.strides()[1], &mut scores);
            score(&rule, &mut scores);
            let mut keys: Vec<f64> = scores.iter().zip(&bias).map(|(s, b)| s + b).collect();
            leave_groups(&rule, &mut keys);
            let chosen = take_greatest(&mut keys, rule.wanted);
            let sum: f64 = chosen.iter().map(|&e| scores[e]).sum();
            let factor = if rule.renormalise && sum > 0.0 {
                rule.scale / sum
            } else {
                rule.scale
            };
            for (s, &e) in (0..).zip(&chosen) {
                weights.store(weights.at([t, s]), scores[e] * factor);
                experts.store(experts.at([t, s]), e as f64);
            }
        }
    });
    Ok(())
}

/// Logits to scores.
fn score(rule: &Rule, row: &mut [f64]) {
    if rule.sigmoid {
        row.iter_mut().for_each(|x| *x = 1.0 / (1.0 + (-*x).exp()));
        return;
    }
    let greatest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.iter_mut().for_each(|x| *x = (*x - greatest).exp());
    let total: f64 = row.iter().sum();
    row.iter_mut().for_each(|x| *x /= total);
}

/// Puts the experts of groups that are not chosen behind all others.
fn leave_groups(rule: &Rule, keys: &mut [f64]) {
    if rule.top_groups == rule.groups {
        return;
    }
    let size = rule.experts / rule.groups;
    let mut groups: Vec<f64> = keys
        .chunks(size.max(1))
        .map(|group| {
            let best = take_greatest(&mut group.to_vec(), rule.group_score);
            best.into_iter().map(|e| group[e]).sum()
        })
        .collect();
    groups.resize(rule.groups, f64::NEG_INFINITY);
    let chosen = take_greatest(&mut groups, rule.top_groups);
    for g in (0..rule.groups).filter(|g| !chosen.contains(g)) {
        keys[g * size..(g + 1) * size].fill(f64::NEG_INFINITY);
    }
}

/// The places of the greatest `count` numbers, of equal ones the first; each becomes NaN, which is no number's equal.
fn take_greatest(keys: &mut [f64], count: usize) -> Vec<usize> {
    (0..count.min(keys.len()))
        .map(|_| {
            let mut best: Option<usize> = None;
            for (i, key) in keys.iter().enumerate() {
                if !key.is_nan() && best.is_none_or(|b| *key > keys[b]) {
                    best = Some(i);
                }
            }
            // A NaN among the logits breaks the rules on contents; the first place then stands for it.
            let best = best.unwrap_or(0);
            keys[best] = f64::NAN;
            best
        })
        .collect()
}

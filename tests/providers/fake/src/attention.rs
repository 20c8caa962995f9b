//! Kernels of `paged_attention.1`.
//!
//! | kernel | tier | guard |
//! |---|---|---|
//! | `narrow` | tuned | f16 cache, neither cache reaches element 2^31; causal alone |
//! | `soft` | portable | sm_90 or later, f16 cache, D of 64 or 128; causal, window, softcap, sinks |
//! | `wide` | portable, lower | f16 or q8_0 cache; causal alone |

use crate::code::{self, ANY};
use overt_kernels::ops::paged_attention::OP;
use overt_sdk::declare::Clause;
use overt_sdk::host::{Body, HostKernel, Job, Launch};
use overt_sdk::{Error, Result};

static NARROW: Body = Body {
    symbol: "fake_attention_narrow",
    image: &ANY,
    run,
};
static SOFT: Body = Body {
    symbol: "fake_attention_soft",
    image: &ANY,
    run,
};
static WIDE: Body = Body {
    symbol: "fake_attention_wide",
    image: &ANY,
    run,
};

fn caches(clause: impl Fn(&'static str) -> Clause) -> Vec<Clause> {
    ["k_cache", "v_cache"].into_iter().map(clause).collect()
}

overt_sdk::kernel! {
    id: "fake/paged_attention/narrow",
    op: &OP,
    tier: Tuned,
    priority: 20,
    doc: "32-bit offsets into the cache",
    handles: ["causal"],
    entries: [NARROW.symbol],
    needs: caches(|cache| fact(format!("{cache}.dtype")).is(F16)),
    needs: caches(|cache| {
        fact(format!("{cache}.max_offset")).below(1i64 << 31).source("offsets are computed in 32 bits")
    }),
    flags: CAPTURE_SAFE | DETERMINISTIC,
    numeric_class: "fake.attention",
    body: HostKernel::new(|launch: &mut Launch<'_>| code::launch(launch, &NARROW, &WIDE, None, [1, 1, 1])),
}

overt_sdk::kernel! {
    id: "fake/paged_attention/soft",
    op: &OP,
    tier: Portable,
    priority: 20,
    doc: "every attribute",
    handles: ["causal", "window", "softcap", "sinks"],
    entries: [SOFT.symbol],
    needs: caches(|cache| fact(format!("{cache}.dtype")).is(F16)),
    needs: [
        fact("device.arch").fits([ArchPattern::from(Arch::new("sm_90", "sm", 9, 0, 0))]),
        fact("D").is_in([64, 128]),
    ],
    flags: CAPTURE_SAFE | DETERMINISTIC,
    numeric_class: "fake.attention",
    body: HostKernel::new(|launch: &mut Launch<'_>| code::launch(launch, &SOFT, &WIDE, None, [1, 1, 1])),
}

overt_sdk::kernel! {
    id: "fake/paged_attention/wide",
    op: &OP,
    tier: Portable,
    priority: 10,
    doc: "64-bit offsets into the cache",
    handles: ["causal"],
    entries: [WIDE.symbol],
    needs: caches(|cache| fact(format!("{cache}.dtype")).is_in([F16, Q8_0])),
    flags: CAPTURE_SAFE | DETERMINISTIC,
    numeric_class: "fake.attention",
    body: HostKernel::new(|launch: &mut Launch<'_>| code::launch(launch, &WIDE, &WIDE, None, [1, 1, 1])),
}

/// Attention as the definition has it: all logits of a row, then their softmax, then the weighted sum.
fn run(job: &Job<'_>) -> Result<()> {
    code::begin(job)?;
    let (query, keys, values) = (job.view(0)?, job.view(1)?, job.view(2)?);
    let (table, lens, starts) = (job.view(3)?, job.view(4)?, job.view(5)?);
    let (sinks, out) = (job.optional_view(6)?, job.view(7)?);
    let call = job.call();
    let (scale, causal) = (call.attr_f64(0)?, call.attr_bool(1)?);
    let (window, softcap) = (call.attr_i64(2)?, call.attr_f64(3)?);
    let (heads, width) = (query.shape()[1], query.shape()[2]);
    let (page, kv_heads, value_width) = (keys.shape()[1], keys.shape()[2], values.shape()[3]);
    for request in 0..table.shape()[0] {
        let len = lens.load_int(lens.at([request]));
        let first = starts.load_int(starts.at([request]));
        let rows = starts.load_int(starts.at([request + 1])) - first;
        let block = |position: i64| -> Result<i64> {
            let block = table.load_int(table.at([request, position / page]));
            if (0..keys.shape()[0]).contains(&block) {
                Ok(block)
            } else {
                Err(Error::internal(format!(
                    "block {block} of request {request}"
                )))
            }
        };
        for row in 0..rows {
            let position = len - rows + row;
            for head in 0..heads {
                let kv = head / (heads / kv_heads);
                let mut logits = Vec::new();
                for key in 0..len {
                    let visible = (!causal || key <= position)
                        && (window == 0 || (position - key).abs() < window);
                    if !visible {
                        continue;
                    }
                    let block = block(key)?;
                    let mut dot = 0.0;
                    for d in 0..width {
                        dot += query.load(query.at([first + row, head, d]))
                            * keys.load(keys.at([block, key % page, kv, d]));
                    }
                    let mut logit = dot * scale;
                    if softcap > 0.0 {
                        logit = softcap * (logit / softcap).tanh();
                    }
                    logits.push((block, key % page, logit));
                }
                let sink = sinks.as_ref().map(|sinks| sinks.load(sinks.at([head])));
                let most = logits
                    .iter()
                    .map(|l| l.2)
                    .chain(sink)
                    .fold(f64::NEG_INFINITY, f64::max);
                let total: f64 = logits.iter().map(|l| (l.2 - most).exp()).sum::<f64>()
                    + sink.map_or(0.0, |sink| (sink - most).exp());
                for d in 0..value_width {
                    let sum: f64 = logits
                        .iter()
                        .map(|(block, slot, logit)| {
                            (logit - most).exp() * values.load(values.at([*block, *slot, kv, d]))
                        })
                        .sum();
                    let value = if total > 0.0 { sum / total } else { 0.0 };
                    out.store(out.at([first + row, head, d]), value);
                }
            }
        }
    }
    Ok(())
}

//! Attention in `f64`, one query row and head at a time, in two passes over its keys.

use super::problem::{self, Attrs, Request};
use crate::images::PORTABLE;
use crate::pool::Pool;
use overt_kernels::ops::paged_attention::OP;
use overt_sdk::Result;
use overt_sdk::host::{Body, HostKernel, HostView, Job, Launch};
use std::ops::Range;

overt_sdk::kernel! {
    id: "cpu/paged_attention/reference",
    op: &OP,
    tier: Reference,
    doc: "row by row and head by head in f64, the whole schema",
    handles: ["causal", "window", "softcap", "sinks", "k_scale", "v_scale"],
    images: [PORTABLE.id],
    entries: [BODY.symbol],
    numeric_class: "cpu.paged_attention.reference",
    flags: CAPTURE_SAFE | DETERMINISTIC,
    body: HostKernel::new(launch),
}

static BODY: Body = Body {
    symbol: "cpu_paged_attention_reference",
    image: &PORTABLE,
    run,
};

fn launch(launch: &mut Launch<'_>) -> Result<()> {
    let query = launch.call().operand(problem::QUERY)?;
    launch.run(&BODY, [query.dim(0)? as u32, query.dim(1)? as u32, 1])
}

struct Call<'a> {
    query: HostView<'a>,
    k_cache: HostView<'a>,
    v_cache: HostView<'a>,
    table: HostView<'a>,
    sinks: Option<HostView<'a>>,
    out: HostView<'a>,
    attrs: Attrs,
}

fn run(job: &Job<'_>) -> Result<()> {
    let call = Call {
        query: job.view(problem::QUERY)?,
        k_cache: job.view(problem::K_CACHE)?,
        v_cache: job.view(problem::V_CACHE)?,
        table: job.view(problem::BLOCK_TABLE)?,
        sinks: job.optional_view(problem::SINKS)?,
        out: job.view(problem::OUT)?,
        attrs: Attrs::of(job)?,
    };
    let requests = problem::requests(job)?;
    let heads = call.query.shape()[1];
    let width = call.query.shape()[2] + call.out.shape()[2];
    let pool = job.context::<Pool>()?;
    for (r, request) in requests.iter().enumerate() {
        let items = (request.rows * heads) as usize;
        let steps = (request.len * width) as u64;
        pool.ranges(items, steps, |items| {
            let mut logits = Vec::new();
            for item in items.start as i64..items.end as i64 {
                let (row, head) = (item / heads, item % heads);
                row_of(&call, r as i64, request, row, head, &mut logits);
            }
        });
    }
    Ok(())
}

/// Keys that a query at `position` sees, of a sequence of `len`.
fn visible(attrs: &Attrs, position: i64, len: i64) -> Range<i64> {
    let (mut start, mut end) = (0, len);
    if attrs.window > 0 {
        start = (position + 1).saturating_sub(attrs.window).max(0);
        end = end.min(position.saturating_add(attrs.window));
    }
    if attrs.causal {
        end = end.min(position + 1);
    }
    start..end.max(start)
}

fn row_of(call: &Call<'_>, r: i64, request: &Request, row: i64, head: i64, logits: &mut Vec<f64>) {
    let Call {
        query,
        k_cache,
        v_cache,
        table,
        sinks,
        out,
        attrs,
    } = call;
    let token = request.first + row;
    let keys = visible(attrs, request.len - request.rows + row, request.len);
    // Heads divide exactly, which the schema holds.
    let kv_head = head / (query.shape()[1] / k_cache.shape()[2]);
    let page = k_cache.shape()[1];
    let place = |key: i64| [table.load_int(table.at([r, key / page])), key % page];

    let mut q = vec![0.0; query.shape()[2] as usize];
    query.load_row(query.at([token, head, 0]), query.strides()[2], &mut q);
    let mut k = vec![0.0; q.len()];
    logits.clear();
    for key in keys.clone() {
        let [block, position] = place(key);
        let at = k_cache.at([block, position, kv_head, 0]);
        k_cache.load_row(at, k_cache.strides()[3], &mut k);
        let mut logit =
            attrs.scale * attrs.k_scale * q.iter().zip(&k).map(|(a, b)| a * b).sum::<f64>();
        if attrs.softcap > 0.0 {
            logit = attrs.softcap * (logit / attrs.softcap).tanh();
        }
        logits.push(logit);
    }

    let mut values = vec![0.0; out.shape()[2] as usize];
    let sink = sinks.as_ref().map(|sinks| sinks.load(sinks.at([head])));
    // A row that sees no key gives zeros, sink or not.
    if !logits.is_empty() {
        let greatest = logits
            .iter()
            .copied()
            .chain(sink)
            .fold(f64::NEG_INFINITY, f64::max);
        let mut total = sink.map_or(0.0, |sink| (sink - greatest).exp());
        let mut v = vec![0.0; values.len()];
        for (key, logit) in keys.zip(logits.iter()) {
            let weight = (logit - greatest).exp();
            total += weight;
            let [block, position] = place(key);
            let at = v_cache.at([block, position, kv_head, 0]);
            v_cache.load_row(at, v_cache.strides()[3], &mut v);
            for (sum, value) in values.iter_mut().zip(&v) {
                *sum += weight * value;
            }
        }
        for value in &mut values {
            *value *= attrs.v_scale / total;
        }
    }
    for (d, value) in (0..).zip(&values) {
        out.store(out.at([token, head, d]), *value);
    }
}

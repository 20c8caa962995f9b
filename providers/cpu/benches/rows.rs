//! Rates of the row-wise kernels, called through the table, beside the rate of a copy with ordinary stores on as many threads.
//!
//! Each figure is the least of many repetitions, so that a busy machine disturbs it little; bytes are those of the op's `work`, each
//! operand once. Small calls are enqueued a hundred at a time and divided: what a step of a model pays for one.

#[path = "../../sdk/tests/support/mod.rs"]
mod support;

#[path = "../tests/support/case.rs"]
mod case;

use case::{Case, runnable};
use overt_cpu::Cpu;
use overt_kernels::dtype::{BF16, F32, Q8_0};
use overt_kernels::host::HostCall;
use overt_kernels::op::{Geometry, Op};
use overt_kernels::ops;
use overt_kernels::schema::AttrValue;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::*;

/// Least time of one run of `f`, over about this long.
fn least(budget: Duration, mut f: impl FnMut()) -> f64 {
    f();
    let (begin, mut best) = (Instant::now(), f64::INFINITY);
    while begin.elapsed() < budget {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

/// Bytes read and written in a second by a loop with ordinary stores, over buffers that no cache holds.
fn copy_rate(threads: usize) -> f64 {
    const LEN: usize = 16 << 20;
    let source = vec![1.0_f32; LEN];
    let mut target = vec![0.0_f32; LEN];
    let seconds = least(Duration::from_millis(400), || {
        let part = LEN.div_ceil(threads);
        std::thread::scope(|scope| {
            for (from, to) in source.chunks(part).zip(target.chunks_mut(part)) {
                scope.spawn(move || {
                    for (to, from) in to.iter_mut().zip(from) {
                        *to = *from * 1.5;
                    }
                });
            }
        });
    });
    assert_eq!(target[LEN - 1], 1.5);
    (2 * LEN * size_of::<f32>()) as f64 / seconds
}

fn measure(
    s: &Session,
    op: &'static Op,
    geometry: &Geometry,
    rate: f64,
    change: impl Fn(&mut HostCall),
) {
    let short = op.name.split('.').next().unwrap();
    if std::env::args()
        .nth(1)
        .is_some_and(|wanted| !wanted.starts_with("--") && wanted != short)
    {
        return;
    }
    let schema = Arc::new(op.parse().unwrap());
    let mut host = HostCall::from_geometry(&schema, geometry).unwrap();
    (op.fill)(&mut host, 1);
    change(&mut host);
    let bytes = (op.work)(&host).bytes;
    // Beside each large call, since a busy machine changes from second to second.
    let rate = if bytes > 5e6 {
        copy_rate(std::thread::available_parallelism().map_or(1, usize::from))
    } else {
        rate
    };
    let stream = s.stream();
    let case = Case::new(s, host);
    case.upload(s, stream);
    let raw = case.call();
    for kernel in runnable(short) {
        if kernel.ends_with("reference") {
            continue;
        }
        let opened = s.kernel(&kernel);
        let repeat = if bytes < 1e6 { 100 } else { 1 };
        let seconds = least(Duration::from_millis(500), || {
            for _ in 0..repeat {
                let mut receipt = empty_receipt();
                call!(s, launch(opened, stream, &raw, &mut receipt)).unwrap();
            }
            call!(s, stream_sync(stream)).unwrap();
        }) / f64::from(repeat);
        println!(
            "{kernel:<28} {:<34} {:>10.2} us {:>7.2} GB/s {:>5.0} % of {:.1}",
            geometry.name,
            seconds * 1e6,
            bytes / seconds / 1e9,
            bytes / seconds / rate * 100.0,
            rate / 1e9
        );
    }
    for tensor in &case.operands {
        if tensor.handle != 0 {
            // SAFETY: nothing is pending.
            unsafe { s.api.memory_free.unwrap()(s.devices[0], tensor.handle) };
        }
    }
}

fn main() {
    let s = Session::new::<Cpu>();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let rate = copy_rate(threads);
    println!(
        "copy with ordinary stores, {threads} threads: {:.2} GB/s read and written",
        rate / 1e9
    );
    let same = |_: &mut HostCall| {};
    for (t, d) in [(4096, 4096), (1, 576), (1, 4096)] {
        let named = |rest: &str| Geometry::named(format!("t{t}_d{d}_{rest}"));
        for (word, dtype) in [("f32", F32), ("bf16", BF16)] {
            let rows = named(word).symbols(&[("T", t), ("D", d)]);
            let eps = |g: Geometry| g.attr("eps", AttrValue::F64(1e-6));
            measure(
                &s,
                &ops::add::OP,
                &rows.clone().dtypes(&[("a", dtype), ("b", dtype)]),
                rate,
                same,
            );
            let norm = eps(rows.clone()).dtypes(&[("x", dtype), ("weight", dtype)]);
            measure(&s, &ops::rms_norm::OP, &norm, rate, same);
            measure(
                &s,
                &ops::add_rms_norm::OP,
                &norm.dtypes(&[("residual", dtype)]),
                rate,
                same,
            );
            let gated = named(word)
                .symbols(&[("T", t), ("D2", 2 * d)])
                .dtypes(&[("x", dtype)]);
            measure(&s, &ops::silu_and_mul::OP, &gated, rate, same);
            measure(&s, &ops::gelu_and_mul::OP, &gated, rate, same);
            let mut erf = gated.clone().attr("erf", AttrValue::Bool(true));
            erf.name.push_str("_erf");
            measure(&s, &ops::gelu_and_mul::OP, &erf, rate, same);
            measure(&s, &ops::swiglu_clamped::OP, &gated, rate, same);
            let mut mixed = gated.clone().attr("interleaved", AttrValue::Bool(true));
            mixed.name.push_str("_mixed");
            measure(&s, &ops::swiglu_clamped::OP, &mixed, rate, same);
            measure(
                &s,
                &ops::softmax::OP,
                &rows.clone().dtypes(&[("x", dtype), ("out", dtype)]),
                rate,
                same,
            );
            for (interleaved, order) in [(false, "neox"), (true, "pairs")] {
                let heads = named(&format!("{word}_{order}"))
                    .symbols(&[("T", t), ("H", d / 64), ("D", 64), ("F", 32)])
                    .dtypes(&[("x", dtype)])
                    .attr("interleaved", AttrValue::Bool(interleaved));
                measure(&s, &ops::rope::OP, &heads, rate, same);
            }
            let cache = named(word)
                .symbols(&[
                    ("T", t),
                    ("Hkv", d / 64),
                    ("D", 64),
                    ("Dv", 64),
                    ("N", t / 16 + 2),
                    ("P", 16),
                ])
                .dtypes(&[
                    ("key", dtype),
                    ("value", dtype),
                    ("k_cache", BF16),
                    ("v_cache", BF16),
                ]);
            measure(&s, &ops::reshape_and_cache::OP, &cache, rate, same);
        }
        for (word, dtype) in [("bf16", BF16), ("q8_0", Q8_0)] {
            let table = named(word)
                .symbols(&[("T", t), ("V", 8192), ("D", d)])
                .dtypes(&[("table", dtype), ("out", BF16)]);
            measure(&s, &ops::embedding::OP, &table, rate, same);
        }
    }
    for (t, v, word, dtype) in [
        (1, 151_936, "f32", F32),
        (1, 151_936, "bf16", BF16),
        (64, 151_936, "f32", F32),
    ] {
        let vocabulary = |rest: &str| {
            Geometry::named(format!("t{t}_v{v}_{word}{rest}"))
                .symbols(&[("T", t), ("V", v)])
                .dtypes(&[("logits", dtype)])
        };
        measure(&s, &ops::greedy_argmax::OP, &vocabulary(""), rate, same);
        for (name, top_k, top_p, min_p) in [
            ("_plain", 0, 1.0, 0.0),
            ("_k50", 50, 1.0, 0.0),
            ("_k50_p0.9", 50, 0.9, 0.0),
            ("_p0.9", 0, 0.9, 0.0),
            ("_minp0.05", 0, 1.0, 0.05),
            ("_k2000_p0.99", 2000, 0.99, 0.0),
        ] {
            for (kind, size) in [("_peaked", 3.0), ("_flat", 0.01)] {
                let geometry = vocabulary(&format!("{name}{kind}"));
                measure(
                    &s,
                    &ops::sample::OP,
                    &geometry,
                    rate,
                    |host: &mut HostCall| {
                        // Sums of uniform numbers: near the normal distribution of a model's logits.
                        let mut state = 1u64;
                        let mut unit = || {
                            state = state
                                .wrapping_mul(6_364_136_223_846_793_005)
                                .wrapping_add(1);
                            (state >> 40) as f64 / (1u64 << 24) as f64
                        };
                        host.operand_mut("logits")
                            .unwrap()
                            .fill_with(|| size * (unit() + unit() + unit() + unit() - 2.0) * 1.7)
                            .unwrap();
                        for (operand, value) in
                            [("temperature", 1.0), ("top_p", top_p), ("min_p", min_p)]
                        {
                            host.operand_mut(operand)
                                .unwrap()
                                .fill_with(|| value)
                                .unwrap();
                        }
                        for t in 0..t {
                            host.operand_mut("top_k")
                                .unwrap()
                                .set_i64(&[t], top_k)
                                .unwrap();
                        }
                    },
                );
            }
        }
    }
}

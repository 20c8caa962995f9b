//! Scenario 22: a problem that breaks its schema is an error before any kernel is asked; contents are held in checked mode.

use overt::kernels::dtype::{BF16, F16, F32};
use overt::kernels::host::HostCall;
use overt::{BindProblem, Error, Problem, Runtime, View};
use overt_tests::case;
use overt_tests::problems::Attention;
use overt_tests::run::{Uploaded, verified};
use overt_tests::start::{self, Fake};

fn heads(runtime: &Runtime, query: i64, kv: i64) -> Result<Problem, Error> {
    let op = runtime.op("paged_attention").unwrap();
    let view = |dtype, shape: &[i64]| View::contiguous(dtype, shape).unwrap();
    let i32s = |shape: &[i64]| view(overt::kernels::dtype::I32, shape);
    let problem = Problem::new(&op)
        .operand("query", view(F32, &[2, query, 64]))?
        .operand("k_cache", view(F16, &[4, 16, kv, 64]))?
        .operand("v_cache", view(F16, &[4, 16, kv, 64]))?
        .operand("block_table", i32s(&[1, 4]))?
        .operand("seq_lens", i32s(&[1]))?
        .operand("query_start", i32s(&[2]))?
        .operand("out", view(F32, &[2, query, 64]))?
        .attr("scale", 0.125)?;
    Ok(problem)
}

#[test]
fn query_heads_that_do_not_divide_are_an_error_before_dispatch() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let device = started.device("fake");
        for (query, kv) in [(33, 2), (7, 4), (1, 2), (5, 3), (3, 0)] {
            let problem = heads(&started.runtime, query, kv).unwrap();
            let error = started.runtime.explain(&problem, &device).unwrap_err();
            assert!(
                matches!(&error, Error::Bind(e) if matches!(*e.problem, BindProblem::Expression { .. })),
                "{error}"
            );
            let text = error.to_string();
            assert!(
                text.contains("paged_attention.1")
                    && text.contains("Hq / Hkv")
                    && text.contains(&query.to_string()),
                "{text}"
            );
        }
        for (query, kv) in [(32, 2), (33, 33), (33, 11), (8, 1)] {
            started
                .runtime
                .explain(&heads(&started.runtime, query, kv).unwrap(), &device)
                .unwrap();
        }
    });
}

/// A page of the cache by number is all NaN.
fn poisoned(host: &HostCall, name: &str) -> usize {
    let cache = host.operand(name).unwrap();
    let values = cache.to_f64().unwrap();
    let page = values.len() / cache.shape[0] as usize;
    values
        .chunks(page)
        .filter(|page| page.iter().all(|v| v.is_nan()))
        .count()
}

#[test]
fn entries_and_pages_past_the_end_are_never_read() {
    case!("cpu", [], || {
        for features in ["all", "none"] {
            let runtime = start::cpu().knob("cpu.features", features).start().unwrap();
            let device = runtime.device("cpu").unwrap();
            for (dtype, page) in [(F32, 4), (F16, 16), (BF16, 3), (F32, 1)] {
                let attention = Attention {
                    dtypes: (F32, dtype, F32),
                    page,
                    queries: vec![2, 0, 1],
                    lengths: vec![13, 4, 1],
                    ..Attention::default()
                };
                let host = attention.filled();
                // Filling leaves no doubt: unused pages hold NaN, and entries behind a sequence's end are no pages at all.
                assert!(poisoned(&host, "k_cache") > 0 && poisoned(&host, "v_cache") > 0);
                let table = host.operand("block_table").unwrap();
                let pages = table.shape[1];
                for (request, length) in attention.lengths.iter().enumerate() {
                    let used = (length + page - 1) / page;
                    for entry in used..pages {
                        let block = table.get_i64(&[request as i64, entry]).unwrap();
                        assert!(block < 0 || block >= host.operand("k_cache").unwrap().shape[0]);
                    }
                }
                verified(&runtime, &device, host);
            }
        }
        let started = Fake::of("sm_86").start();
        verified(
            &started.runtime,
            &started.device("fake"),
            Attention::default().filled(),
        );
    });
}

/// Breaks one entry of an operand.
fn broken(mut host: HostCall, operand: &str, index: &[i64], value: i64) -> HostCall {
    host.operand_mut(operand)
        .unwrap()
        .set_i64(index, value)
        .unwrap();
    host
}

#[test]
fn a_bad_entry_inside_a_sequence_is_an_error_in_checked_mode_that_names_operand_and_index() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").with(|b| b.checked(true)).start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let good = || Attention::default().filled();
        for (operand, index, value) in [
            ("block_table", &[0, 1][..], -1),
            ("block_table", &[0, 2], 1_000_000),
            ("block_table", &[1, 0], i64::from(i32::MIN)),
            ("seq_lens", &[1], -3),
            ("seq_lens", &[0], 1_000),
            ("query_start", &[1], 9),
            ("query_start", &[0], 1),
        ] {
            let uploaded = Uploaded::new(&stream, broken(good(), operand, index, value)).unwrap();
            let error = stream.dispatch(&uploaded.call()).unwrap_err();
            let Error::Content { error: content, .. } = &error else {
                panic!("{operand} {index:?}: {error}")
            };
            let text = error.to_string();
            assert!(
                text.contains("paged_attention.1") && text.contains(&content.operand),
                "{text}"
            );
            if operand == "block_table" {
                assert_eq!(
                    (content.operand.as_str(), content.index.as_slice()),
                    (operand, index),
                    "{text}"
                );
                assert!(text.contains(&value.to_string()), "{text}");
            }
        }
        assert_eq!(started.observer.count("launch"), 0, "nothing has run");
        // What lies past the end breaks no rule.
        let uploaded = Uploaded::new(&stream, broken(good(), "block_table", &[1, 2], -9)).unwrap();
        stream.dispatch(&uploaded.call()).unwrap();
        uploaded.check(&stream).unwrap();
    });
}

#[test]
fn unchecked_the_cpu_still_reports_a_bad_entry_and_reads_nothing_wild() {
    case!("cpu", [], || {
        for features in ["all", "none"] {
            let runtime = start::cpu().knob("cpu.features", features).start().unwrap();
            let stream = runtime.stream(&runtime.device("cpu").unwrap()).unwrap();
            let host = broken(
                Attention::default().filled(),
                "block_table",
                &[0, 1],
                1_000_000_000,
            );
            let uploaded = Uploaded::new(&stream, host).unwrap();
            stream.dispatch(&uploaded.call()).unwrap();
            let error = stream.sync().unwrap_err();
            assert!(matches!(error, Error::Async { .. }), "{error}");
            // The stream works again.
            verified(&runtime, stream.device(), Attention::default().filled());
        }
    });
}

/// Extents that follow from an attribute are checked on every call, also where the same views were accepted with another value.
#[test]
fn scales_must_have_an_entry_for_each_block_whatever_was_called_before() {
    case!("cpu", [], || {
        let runtime = start::cpu().start().unwrap();
        let device = runtime.device("cpu").unwrap();
        let stream = runtime.stream(&device).unwrap();
        let op = runtime.op("matmul_bt").unwrap();
        let tensor = |shape: &[i64]| overt::Tensor::empty(&device, F32, shape).unwrap();
        let (a, b, out) = (tensor(&[2, 64]), tensor(&[6, 64]), tensor(&[2, 6]));
        let scales = tensor(&[3, 2]);
        for tensor in [&a, &b, &scales] {
            stream.fill(tensor, 0x3f).unwrap();
        }
        let dispatch = |rows: i64, depth: i64| {
            let call = overt::Call::new(&op)
                .operand("a", &a)?
                .operand("b", &b)?
                .operand("b_scale", &scales)?
                .operand("out", &out)?
                .attr("scale_rows", rows)?
                .attr("scale_depth", depth)?;
            stream.dispatch(&call)
        };
        // Five rows to a block leave the second with one; ceil(6 / 2) and ceil(6 / 3) are 3 and 2.
        for _ in 0..3 {
            assert_eq!(dispatch(2, 32).unwrap().launches, 1);
            let error = dispatch(3, 32).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("`b_scale`") && text.contains("ceil(N / scale_rows)"),
                "{text}"
            );
            assert!(text.contains("attribute `scale_rows`"), "{text}");
            assert!(
                dispatch(2, 64).is_err() && dispatch(0, 32).is_err() && dispatch(-2, 32).is_err()
            );
            assert_eq!(dispatch(2, 33).unwrap().launches, 1);
        }
        stream.sync().unwrap();
    });
}

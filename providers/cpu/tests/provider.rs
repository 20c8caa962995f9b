//! The provider's device, its settings, and what its kernels promise beyond right numbers.

#[path = "../../sdk/tests/support/mod.rs"]
mod support;

#[path = "support/case.rs"]
mod case;

use case::{Case, runnable};
use overt_cpu::Cpu;
use overt_kernels::host::{HostCall, HostTensor};
use overt_kernels::op::{Geometry, Op};
use overt_kernels::ops;
use overt_kernels::schema::AttrValue;
use overt_sdk::abi::*;
use overt_sdk::dtypes::{BF16, F32};
use std::sync::Arc;
use support::*;

fn facts(s: &Session) -> Vec<(String, i64)> {
    let mut info = std::ptr::null();
    call!(s, device_info(s.instance, 0, &mut info)).unwrap();
    // SAFETY: a live description; every fact of this device is a truth value or an integer.
    unsafe {
        std::slice::from_raw_parts((*info).facts, (*info).fact_count as usize)
            .iter()
            .map(|f| (str_of(f.name), f.value.data.i))
            .collect()
    }
}

fn major(s: &Session) -> u32 {
    let mut info = std::ptr::null();
    call!(s, device_info(s.instance, 0, &mut info)).unwrap();
    // SAFETY: a live description.
    unsafe { (*(*info).arch).major }
}

#[test]
fn a_feature_mask_takes_features_from_the_device() {
    let s = Session::with::<Cpu>(&[("cpu.features", str_value("none"))]).unwrap();
    let features: Vec<_> = facts(&s)
        .into_iter()
        .filter(|(n, _)| n.starts_with("feature."))
        .collect();
    assert!(!features.is_empty() && features.iter().all(|(_, on)| *on == 0));
    if cfg!(target_arch = "x86_64") {
        assert_eq!(major(&s), 1);
        let all = Session::new::<Cpu>();
        let s = Session::with::<Cpu>(&[("cpu.features", str_value("avx2,fma"))]).unwrap();
        for ((name, on), (_, live)) in facts(&s).into_iter().zip(facts(&all)) {
            if let Some(feature) = name.strip_prefix("feature.") {
                let kept = ["avx2", "fma"].contains(&feature);
                assert_eq!(on, i64::from(kept && live == 1), "{name}");
            }
        }
    }
    let (status, words) = Session::with::<Cpu>(&[("cpu.features", str_value("avx9"))])
        .err()
        .unwrap();
    assert_eq!(status, OVERT_E_INVALID);
    assert!(words.contains("avx9") && words.contains("known"), "{words}");
}

#[test]
fn settings_outside_their_range_or_unknown_are_refused() {
    for options in [
        ("cpu.threads", i64_value(-1)),
        ("cpu.threads", i64_value(1025)),
        ("cpu.threads", str_value("two")),
        ("cpu.thread", i64_value(1)),
    ] {
        let (status, words) = Session::with::<Cpu>(&[options]).err().unwrap();
        assert_eq!(status, OVERT_E_INVALID);
        assert!(words.contains(options.0), "{words}");
    }
}

#[test]
fn the_device_states_what_it_is() {
    let s = Session::with::<Cpu>(&[("cpu.threads", i64_value(3))]).unwrap();
    let facts = facts(&s);
    let fact = |name: &str| facts.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
    assert_eq!(fact("threads"), Some(3));
    assert!(fact("cores").unwrap() >= 1);
    assert!(fact("page_bytes").is_some_and(|b| b >= 4096 && b.count_ones() == 1));
    let mut info = std::ptr::null();
    call!(s, device_info(s.instance, 0, &mut info)).unwrap();
    // SAFETY: a live description.
    let info = unsafe { &*info };
    assert_eq!(info.kind, OVERT_DEVICE_HARDWARE);
    assert_ne!(info.flags & OVERT_DEVICE_FLAG_HOST_ADDRESSABLE, 0);
    assert!(str_of(info.id).starts_with("cpuid:"));
}

#[test]
fn instances_start_and_end_with_their_threads() {
    let threads = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    let before = threads();
    for _ in 0..50 {
        let s = Session::with::<Cpu>(&[("cpu.threads", i64_value(4))]).unwrap();
        let stream = s.stream();
        // SAFETY: nothing uses it any more.
        unsafe { s.api.stream_destroy.unwrap()(stream) };
    }
    // Other tests of this process have threads of their own, but fifty rounds of five would show.
    assert!(
        threads() < before + 100,
        "{before} threads before, {} after",
        threads()
    );
}

fn case(s: &Session, op: &Op, geometry: &Geometry, seed: u64) -> Case {
    let schema = Arc::new(op.parse().unwrap());
    let mut host = HostCall::from_geometry(&schema, geometry).unwrap();
    (op.fill)(&mut host, seed);
    Case::new(s, host)
}

fn mixed(query_lens: &[i64], seq_lens: &[i64]) -> Geometry {
    let pages = seq_lens.iter().map(|n| (n + 15) / 16).sum::<i64>() + 1;
    Geometry::named("mixed")
        .symbols(&[
            ("T", query_lens.iter().sum()),
            ("Hq", 6),
            ("D", 72),
            ("N", pages),
            ("P", 16),
            ("Hkv", 2),
            ("Dv", 40),
            ("R", seq_lens.len() as i64),
            ("M", 9),
        ])
        .dtypes(&[
            ("query", F32),
            ("k_cache", BF16),
            ("v_cache", BF16),
            ("out", F32),
        ])
        .attr("scale", AttrValue::F64(0.125))
        .lengths("query_lens", query_lens)
        .lengths("seq_lens", seq_lens)
}

/// The call without one request that has no query rows: its row of every table left out.
fn without(host: &HostCall, request: i64) -> HostCall {
    let mut operands = host.operands.clone();
    for (number, extra) in [(3, 0), (4, 0), (5, 1)] {
        let old = host.operands[number].as_ref().unwrap();
        let mut shape = old.shape.clone();
        shape[0] -= 1;
        let mut new = HostTensor::contiguous(old.dtype, &shape).unwrap();
        let columns = shape.get(1).copied().unwrap_or(1);
        let rows = (0..old.shape[0]).filter(|r| *r != request + extra);
        for (to, from) in (0..).zip(rows) {
            for c in 0..columns {
                let index = |r| {
                    if shape.len() == 2 {
                        vec![r, c]
                    } else {
                        vec![r]
                    }
                };
                new.set_i64(&index(to), old.get_i64(&index(from)).unwrap())
                    .unwrap();
            }
        }
        operands[number] = Some(new);
    }
    let attrs = [("scale".to_owned(), AttrValue::F64(0.125))];
    HostCall::bind(&host.schema, operands, &attrs).unwrap()
}

#[test]
fn an_empty_request_leaves_the_others_bit_equal() {
    for kernel in runnable("paged_attention") {
        let s = Session::new::<Cpu>();
        let stream = s.stream();
        let all = case(
            &s,
            &ops::paged_attention::OP,
            &mixed(&[7, 0, 5], &[130, 40, 5]),
            1,
        );
        let fewer = Case::new(&s, without(&all.host, 1));
        all.run(&s, stream, &kernel).unwrap();
        fewer.run(&s, stream, &kernel).unwrap();
        let (a, b) = (all.download(&s, stream, 7), fewer.download(&s, stream, 7));
        assert!(a.iter().any(|x| *x != 0) && a == b, "{kernel}");
    }
}

#[test]
fn a_row_alone_is_bit_equal_to_the_row_in_a_batch_and_threads_change_nothing() {
    let geometry = |m| {
        Geometry::named("rows")
            .symbols(&[("M", m), ("N", 333), ("K", 517)])
            .dtypes(&[("a", F32), ("b", BF16), ("out", F32), ("bias", F32)])
            .with("bias")
    };
    for kernel in runnable("matmul_bt") {
        let mut results = Vec::new();
        for threads in [1, 3] {
            let s = Session::with::<Cpu>(&[("cpu.threads", i64_value(threads))]).unwrap();
            let stream = s.stream();
            let batch = case(&s, &ops::matmul_bt::OP, &geometry(37), 5);
            batch.run(&s, stream, &kernel).unwrap();
            let out = batch.download(&s, stream, 4);
            for row in [0, 11, 36] {
                let mut host = HostCall::from_geometry(&batch.host.schema, &geometry(1)).unwrap();
                host.operands[1..4].clone_from_slice(&batch.host.operands[1..4]);
                let a = &batch.host.operands[0].as_ref().unwrap().bytes;
                host.operands[0].as_mut().unwrap().bytes =
                    a[row * 517 * 4..(row + 1) * 517 * 4].to_vec();
                let alone = Case::new(&s, host);
                alone.run(&s, stream, &kernel).unwrap();
                let got = alone.download(&s, stream, 4);
                assert_eq!(
                    got,
                    out[row * 333 * 4..(row + 1) * 333 * 4],
                    "{kernel} row {row}"
                );
            }
            results.push(out);
        }
        assert_eq!(results[0], results[1], "{kernel}");
    }
}

#[test]
fn bad_lengths_and_table_entries_are_failures_with_their_place() {
    for kernel in runnable("paged_attention") {
        let s = Session::new::<Cpu>();
        let stream = s.stream();
        for (operand, index, bad, words) in [
            (3usize, vec![0, 2], 1000, "`block_table` at [0, 2]: 1000"),
            (3, vec![1, 0], -1, "`block_table` at [1, 0]: -1"),
            (4, vec![0], 100_000, "`seq_lens` at [0]: 100000"),
            (4, vec![0], 3, "`seq_lens` at [0]: 3"),
            (5, vec![1], 99, "`query_start` at [0]: 0 to 99"),
            (5, vec![1], -4, "`query_start` at [0]: 0 to -4"),
        ] {
            let mut host = case(
                &s,
                &ops::paged_attention::OP,
                &mixed(&[7, 5], &[130, 40]),
                2,
            )
            .host;
            host.operands[operand]
                .as_mut()
                .unwrap()
                .set_i64(&index, bad)
                .unwrap();
            let (status, said) = Case::new(&s, host).run(&s, stream, &kernel).unwrap_err();
            assert_eq!(status, OVERT_E_ASYNC, "{kernel}");
            assert!(said.contains(words), "{kernel}: {said}; wanted {words}");
        }
    }
}

#[test]
fn a_slot_outside_the_cache_is_a_failure_and_no_tokens_are_no_launch() {
    let s = Session::new::<Cpu>();
    let stream = s.stream();
    let geometry = |t| {
        Geometry::named("slots")
            .symbols(&[
                ("T", t),
                ("Hkv", 2),
                ("D", 8),
                ("Dv", 4),
                ("N", 3),
                ("P", 5),
            ])
            .dtypes(&[
                ("key", F32),
                ("value", F32),
                ("k_cache", BF16),
                ("v_cache", BF16),
            ])
    };
    let op = &ops::reshape_and_cache::OP;
    let kernel = "cpu/reshape_and_cache/reference";
    let mut host = case(&s, op, &geometry(4), 3).host;
    host.operands[2]
        .as_mut()
        .unwrap()
        .set_i64(&[1], 15)
        .unwrap();
    let (status, said) = Case::new(&s, host).run(&s, stream, kernel).unwrap_err();
    assert_eq!(status, OVERT_E_ASYNC);
    assert!(said.contains("`slots` at [1]: 15"), "{said}");
    let empty = case(&s, op, &geometry(0), 3);
    assert_eq!(empty.run(&s, stream, kernel).unwrap(), 0);
}

#[test]
fn what_each_launch_reports_is_what_its_worker_ran() {
    let s = Session::new::<Cpu>();
    let stream = s.stream();
    let geometry = Geometry::named("small")
        .symbols(&[("M", 3), ("N", 5), ("K", 17)])
        .dtypes(&[("a", F32), ("b", F32), ("out", F32)]);
    for kernel in runnable("matmul_bt") {
        let case = case(&s, &ops::matmul_bt::OP, &geometry, 9);
        s.record_start();
        assert_eq!(case.run(&s, stream, &kernel).unwrap(), 1);
        assert_eq!(s.record_stop(), [kernel.replace('/', "_")]);
    }
}

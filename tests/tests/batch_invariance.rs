//! A policy that demands batch invariance: each row, and each sequence of a model, has the same bits whatever else is in its batch. Without
//! it a batch of another size may be served by a kernel that sums in another order, which the first tests show.

use overt::kernels::dtype::{F16, F32};
use overt::kernels::host::{HostCall, HostTensor};
use overt::kernels::op::Rows;
use overt::kernels::ops;
use overt::{Error, Policy, ReasonCause, Runtime};
use overt_engine::{Engine, Options, Request, Sampling, SequenceId};
use overt_tests::case;
use overt_tests::model::Llama;
use overt_tests::problems;
use overt_tests::run::Uploaded;
use overt_tests::start::{self, Fake};
use std::collections::BTreeMap;
use std::path::Path;

fn invariant() -> Runtime {
    let runtime = start::cpu().start().unwrap();
    runtime
        .set_policy(Policy::default().batch_invariant(true))
        .unwrap();
    runtime
}

/// The kernel that serves a product, and the bytes of its result.
fn product(runtime: &Runtime, host: HostCall) -> (String, Vec<u8>) {
    let device = runtime.device("cpu").unwrap();
    let stream = runtime.stream(&device).unwrap();
    let uploaded = Uploaded::new(&stream, host).unwrap();
    let launched = stream.dispatch(&uploaded.call()).unwrap();
    (
        launched.kernel(runtime),
        uploaded.read(&stream, "out").bytes,
    )
}

/// A product of many rows, and that of its row `row` by itself.
fn whole_and_row(row: usize) -> [HostCall; 2] {
    let (n, k) = (65, 130);
    let whole = problems::matmul(64, n, k, F32);
    let mut alone = problems::matmul(1, n, k, F32);
    let a = whole.operands[0].as_ref().unwrap();
    let bytes = k as usize * 4;
    alone.operands[0] = Some(HostTensor {
        bytes: a.bytes[row * bytes..(row + 1) * bytes].to_vec(),
        ..alone.operands[0].clone().unwrap()
    });
    alone.operands[1] = whole.operands[1].clone();
    [whole, alone]
}

#[test]
fn one_kernel_serves_one_row_and_many_and_gives_the_same_bits() {
    let runtime = invariant();
    for row in [0, 17, 63] {
        let [whole, alone] = whole_and_row(row);
        let (kernel, all) = product(&runtime, whole);
        let (same, one) = product(&runtime, alone);
        assert_eq!(kernel, same);
        assert!(
            all[row * one.len()..(row + 1) * one.len()] == one,
            "row {row}"
        );
    }
}

#[test]
fn what_is_made_for_many_rows_is_out_and_says_so() {
    let runtime = start::cpu().start().unwrap();
    let device = runtime.device("cpu").unwrap();
    let problem = problems::problem(&runtime, &problems::matmul(64, 65, 130, F32));
    let free = runtime.explain(&problem, &device).unwrap();
    let many = free.chosen.unwrap().kernel;
    if !many.ends_with("_many") {
        println!("skipped: this machine has no kernel for many rows alone ({many})");
        return;
    }
    runtime
        .set_policy(Policy::strict().batch_invariant(true))
        .unwrap();
    let held = runtime.explain(&problem, &device).unwrap();
    assert_ne!(held.chosen.unwrap().kernel, many);
    let rejected = held.rejected.iter().find(|r| r.kernel == many).unwrap();
    let [reason] = rejected.reasons.as_slice() else {
        panic!("{:?}", rejected.reasons)
    };
    assert_eq!(reason.cause(), ReasonCause::Policy);
    assert_eq!(
        reason.to_string(),
        "policy demands batch invariance: its guard reads M, which changes with the batch"
    );
    assert_eq!(
        rejected.would_run_with().as_deref(),
        Some("no demand of batch invariance")
    );
}

#[test]
fn every_op_with_rows_is_still_served_and_by_a_kernel_with_a_class() {
    let runtime = invariant();
    let device = runtime.device("cpu").unwrap();
    let mut served = 0;
    for op in ops::ALL {
        if op.rows == Rows::Dependent {
            continue;
        }
        for geometry in (op.geometries)() {
            let problem = problems::problem(&runtime, &problems::filled(op, &geometry, 1));
            let selection = runtime.explain(&problem, &device).unwrap();
            let chosen = selection
                .chosen
                .unwrap_or_else(|| panic!("{}: {geometry:?}", op.name));
            assert!(chosen.numeric_class.is_some(), "{}", chosen.kernel);
            served += 1;
        }
    }
    assert!(served > 1000, "{served}");
}

#[test]
fn a_kernel_without_a_class_or_with_a_test_of_its_own_is_out() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_90").start();
        let device = started.device("fake:0");
        let runtime = &started.runtime;
        let problem = problems::problem(runtime, &problems::matmul(4, 8, 31, F16));
        let free = runtime.explain(&problem, &device).unwrap();
        assert_eq!(free.chosen.unwrap().kernel, "fake/matmul_bt/odd");
        runtime
            .set_policy(Policy::default().batch_invariant(true))
            .unwrap();
        let words = runtime.explain(&problem, &device).unwrap().to_string();
        for why in [
            "it declares no numeric class",
            "its own test may read the size of the batch",
        ] {
            assert!(words.contains(why), "{words}");
        }
        let stream = runtime.stream(&device).unwrap();
        let uploaded = Uploaded::new(&stream, problems::matmul(4, 8, 31, F16)).unwrap();
        match stream.dispatch(&uploaded.call()) {
            Ok(launched) => assert_ne!(launched.kernel(runtime), "fake/matmul_bt/odd"),
            Err(Error::NoKernel(_)) => {}
            Err(other) => panic!("{other}"),
        }
    });
}

/// What sequences get, run as one batch: tokens, and the bits of all logits of each step.
fn run(
    runtime: &Runtime,
    model: &Path,
    prompts: &[Vec<u32>],
    sequences: usize,
) -> Vec<Vec<(u32, Vec<u32>)>> {
    let options = Options {
        chunk: 24,
        sequences,
        page: 4,
        ..Options::default()
    };
    let mut engine = Engine::load(runtime, model, &options).unwrap();
    let ids: Vec<SequenceId> = prompts
        .iter()
        .map(|prompt| {
            let request = Request {
                prompt: prompt.clone(),
                tokens: 12,
                sampling: Sampling::default(),
                stop: Vec::new(),
            };
            engine.add(request).unwrap()
        })
        .collect();
    let mut got: BTreeMap<SequenceId, Vec<(u32, Vec<u32>)>> = BTreeMap::new();
    while engine.is_busy() {
        let produced = engine.step().unwrap();
        if produced.is_empty() {
            continue;
        }
        let logits = engine.logits().unwrap();
        let width = logits.len() / produced.len();
        for (one, row) in produced.iter().zip(logits.chunks(width)) {
            let bits = row.iter().map(|v| v.to_bits()).collect();
            got.entry(one.sequence).or_default().push((one.token, bits));
        }
    }
    ids.iter().map(|id| got.remove(id).unwrap()).collect()
}

#[test]
fn a_sequence_gets_the_same_bits_alone_and_in_a_batch_of_eight() {
    let folder = tempfile::tempdir().unwrap();
    let model = Llama::default().write(folder.path());
    // Prompts of such lengths that chunks are cut in the middle of some, and passes of decoding and prompts mix.
    let prompts: Vec<Vec<u32>> = [1, 40, 3, 17, 25, 60, 2, 33]
        .iter()
        .enumerate()
        .map(|(n, length)| (0..*length).map(|i| (i * 7 + n as u32 * 13) % 96).collect())
        .collect();
    let runtime = invariant();
    let together = run(&runtime, &model, &prompts, 8);
    for (number, prompt) in prompts.iter().enumerate() {
        let alone = run(&runtime, &model, std::slice::from_ref(prompt), 1).remove(0);
        assert_eq!(alone.len(), 12);
        assert!(alone == together[number], "sequence {number}");
    }
}

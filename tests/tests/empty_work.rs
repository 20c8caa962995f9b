//! Scenario 13 and promise 7: no work is a success without a launch, and an empty row leaves the others bit-equal.

use overt::kernels::dtype::{BF16, F16, F32};
use overt::kernels::host::{HostCall, HostTensor};
use overt::{Device, Runtime};
use overt_tests::case;
use overt_tests::problems::{self, Attention};
use overt_tests::run::{Uploaded, verified};
use overt_tests::start::{self, Fake};

fn empties() -> Vec<(&'static str, HostCall)> {
    vec![
        ("no tokens", problems::add(0, 8, F32)),
        ("no columns", problems::add(3, 0, F32)),
        ("an expert with no rows", problems::matmul(0, 5, 8, F32)),
        ("no columns of a product", problems::matmul(4, 0, 8, F32)),
        ("no rows to norm", problems::rms_norm(0, 16)),
        ("no rows to gate", problems::silu_and_mul(0, 16)),
        (
            "no queries",
            Attention {
                queries: vec![0, 0],
                lengths: vec![3, 4],
                ..Attention::default()
            }
            .filled(),
        ),
    ]
}

/// Runs every empty call on one stream, and a real one after it.
fn runs(runtime: &Runtime, device: &Device, calls: Vec<(&'static str, HostCall)>) {
    let stream = runtime.stream(device).unwrap();
    for (what, host) in calls {
        let before: u64 = runtime
            .counts()
            .iter()
            .map(|c| c.counts.launches + c.counts.enqueued)
            .sum();
        let uploaded = Uploaded::new(&stream, host).unwrap();
        let launched = stream
            .dispatch(&uploaded.call())
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(launched.launches, 0, "{what}");
        let plan = runtime.plan(&uploaded.call(), device).unwrap();
        assert_eq!(plan.launch(&stream).unwrap().launches, 0, "{what}");
        let after: u64 = runtime
            .counts()
            .iter()
            .map(|c| c.counts.launches + c.counts.enqueued)
            .sum();
        assert_eq!(before, after, "{what}: something was counted as launched");
        stream.sync().unwrap();
        let (_, launched) = verified(runtime, device, problems::add(3, 8, F32));
        assert_eq!(launched.launches, 1, "the op after {what}");
    }
}

#[test]
fn no_work_is_a_success_without_a_launch_and_the_next_op_works() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        started.observer.start();
        runs(&started.runtime, &started.device("fake"), empties());
        // One body for each real op that followed, and nothing for the empty ones.
        assert_eq!(started.observer.stop(), vec!["fake_add_aligned"; 7]);
    });
}

#[test]
fn no_work_is_a_success_on_the_cpu() {
    case!("cpu", [], || {
        let runtime = start::cpu().start().unwrap();
        runs(&runtime, &runtime.device("cpu").unwrap(), empties());
    });
}

fn attention(queries: &[i64], lengths: &[i64], dtype: overt::DType) -> Attention {
    Attention {
        queries: queries.to_vec(),
        lengths: lengths.to_vec(),
        dtypes: (F32, dtype, F32),
        ..Attention::default()
    }
}

/// The output of one request as bytes, run alone: its own operands cut out of the batch.
fn alone(
    runtime: &Runtime,
    device: &Device,
    batch: &HostCall,
    request: usize,
    wanted: &str,
) -> Vec<u8> {
    let mut host = batch.clone();
    let starts = batch.operand("query_start").unwrap().to_i64().unwrap();
    let (from, to) = (starts[request], starts[request + 1]);
    let cut = |tensor: &HostTensor, from: i64, to: i64| {
        let row = tensor.strides[0] as usize * tensor.bytes.len() / tensor.len().max(1) as usize;
        let mut shape = tensor.shape.clone();
        shape[0] = to - from;
        HostTensor {
            dtype: tensor.dtype,
            shape,
            strides: tensor.strides.clone(),
            bytes: tensor.bytes[from as usize * row..to as usize * row].to_vec(),
        }
    };
    let request = request as i64;
    for (name, from, to) in [
        ("query", from, to),
        ("out", from, to),
        ("block_table", request, request + 1),
        ("seq_lens", request, request + 1),
    ] {
        let index = host.schema.operand(name).unwrap();
        host.operands[index] = Some(cut(batch.operand(name).unwrap(), from, to));
    }
    let mut start = cut(batch.operand("query_start").unwrap(), 0, 2);
    start.set_i64(&[0], 0).unwrap();
    start.set_i64(&[1], to - from).unwrap();
    let index = host.schema.operand("query_start").unwrap();
    host.operands[index] = Some(start);
    let attrs: Vec<_> = host
        .schema
        .attrs
        .iter()
        .map(|a| a.name.clone())
        .zip(host.attrs.clone())
        .filter(|(name, _)| !name.starts_with("max_"))
        .collect();
    let host = HostCall::bind(&host.schema.clone(), host.operands, &attrs).unwrap();
    let stream = runtime.stream(device).unwrap();
    let uploaded = Uploaded::new(&stream, host).unwrap();
    let launched = stream.dispatch(&uploaded.call()).unwrap();
    assert_eq!(launched.kernel(runtime), wanted);
    uploaded.read(&stream, "out").bytes
}

/// Rows of a batch, by request, as bytes, with the kernel that made them and its numeric class.
fn batch(
    runtime: &Runtime,
    device: &Device,
    host: HostCall,
) -> (Vec<Vec<u8>>, String, Option<String>) {
    let stream = runtime.stream(device).unwrap();
    let uploaded = Uploaded::new(&stream, host).unwrap();
    let class = runtime
        .explain_call(&uploaded.call(), device)
        .unwrap()
        .chosen
        .unwrap()
        .numeric_class;
    let kernel = stream.dispatch(&uploaded.call()).unwrap().kernel(runtime);
    uploaded.check(&stream).unwrap();
    let out = uploaded.read(&stream, "out");
    let row = out.bytes.len() / out.shape[0].max(1) as usize;
    let starts = uploaded
        .host
        .operand("query_start")
        .unwrap()
        .to_i64()
        .unwrap();
    let rows = starts
        .windows(2)
        .map(|w| out.bytes[w[0] as usize * row..w[1] as usize * row].to_vec())
        .collect();
    (rows, kernel, class)
}

/// Every request of the batch gives what it gives alone, and one without keys gives zeros.
fn invariant(runtime: &Runtime, device: &Device, attention: &Attention) {
    let host = attention.filled();
    let (rows, kernel, class) = batch(runtime, device, host.clone());
    assert!(
        class.is_some(),
        "{kernel} promises no class, so it cannot be held to one"
    );
    for (request, rows) in rows.iter().enumerate() {
        if attention.lengths[request] == 0 {
            assert!(
                rows.iter().all(|byte| *byte == 0),
                "{kernel}: request {request} has no keys"
            );
        } else if !rows.is_empty() {
            assert_eq!(
                &alone(runtime, device, &host, request, &kernel),
                rows,
                "{kernel}: request {request} differs alone"
            );
        }
    }
}

#[test]
fn an_empty_row_leaves_the_others_bit_equal_in_a_batch_invariant_kernel() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        for (queries, lengths) in [
            (&[7, 0, 5][..], &[7, 0, 5][..]),
            (&[7, 0, 5], &[23, 9, 5]),
            (&[0, 1, 0, 2], &[4, 8, 0, 2]),
            (&[2, 1, 3], &[2, 0, 3]),
        ] {
            // A query without a single key: its row is zeros.
            invariant(
                &started.runtime,
                &started.device("fake"),
                &attention(queries, lengths, F16),
            );
        }
    });
}

#[test]
fn the_cpus_kernels_keep_their_numeric_class() {
    case!("cpu", [], || {
        for features in ["all", "none"] {
            let runtime = start::cpu().knob("cpu.features", features).start().unwrap();
            let device = runtime.device("cpu").unwrap();
            for dtype in [F32, F16, BF16] {
                for (queries, lengths) in [
                    (&[7, 0, 5][..], &[7, 0, 5][..]),
                    (&[7, 0, 5], &[230, 9, 65]),
                    (&[1, 1, 1], &[300, 1, 17]),
                ] {
                    invariant(&runtime, &device, &attention(queries, lengths, dtype));
                }
            }
        }
    });
}

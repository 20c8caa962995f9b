//! The fast path and the explanation agree on random problems, and a length that moves inside its interval selects nothing anew.

use overt::kernels::dtype::{BF16, F16, F32};
use overt::kernels::host::HostTensor;
use overt::{Allocation, Call, MemoryKind, Stream, Tensor, View};
use overt_tests::case;
use overt_tests::observer::Observer;
use overt_tests::problems::{self, Attention};
use overt_tests::run::Uploaded;
use overt_tests::start::{Fake, Started};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// One operand of a sum: gap of its rows, offset in elements.
type Lie = (i64, u64);

fn tensor(stream: &Stream, dtype: overt::DType, shape: [i64; 2], (gap, offset): Lie) -> Tensor {
    let size = overt::kernels::dtype::element_bytes(dtype).unwrap();
    let view = View::strided(dtype, &shape, &[shape[1] + gap, 1]).unwrap();
    let allocation = Allocation::new(
        stream.device(),
        view.span_bytes() + offset * size,
        64,
        MemoryKind::Device,
    )
    .unwrap();
    Tensor::over(allocation, view, offset * size).unwrap()
}

fn agree(
    started: &Started,
    streams: &[Stream],
    device: usize,
    dtype: usize,
    shape: [i64; 2],
    lies: [Lie; 3],
    in_place: bool,
) {
    let stream = &streams[device];
    let dtype = [F32, F16, BF16][dtype];
    let op = started.runtime.op("add").unwrap();
    let tensors = lies.map(|lie| tensor(stream, dtype, shape, lie));
    let mut call = Call::new(&op);
    call.set(0, Some(&tensors[0]));
    call.set(1, Some(&tensors[1]));
    call.set(2, Some(if in_place { &tensors[0] } else { &tensors[2] }));
    let selection = started
        .runtime
        .explain_call(&call, stream.device())
        .unwrap();
    for _ in 0..2 {
        let launched = stream.dispatch(&call).unwrap();
        assert_eq!(
            Some(launched.kernel(&started.runtime)),
            selection.chosen.as_ref().map(|c| c.kernel.clone()),
            "{selection}"
        );
        assert_eq!(
            launched.fallback,
            selection.fallback.is_some(),
            "{selection}"
        );
    }
}

#[test]
fn what_is_dispatched_is_what_the_explanation_chose() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86,sm_120,nb").start();
        let streams: Vec<Stream> = (0..3)
            .map(|i| {
                started
                    .runtime
                    .stream(&started.device(&format!("fake:{i}")))
                    .unwrap()
            })
            .collect();
        let lie = || (0i64..3, 0u64..9);
        let mut runner = TestRunner::new_with_rng(
            Config {
                cases: 1500,
                failure_persistence: None,
                ..Config::default()
            },
            proptest::test_runner::TestRng::deterministic_rng(
                proptest::test_runner::RngAlgorithm::ChaCha,
            ),
        );
        let problem = (
            0usize..3,
            0usize..3,
            [0i64..5, 0i64..20],
            [lie(), lie(), lie()],
            any::<bool>(),
        );
        runner
            .run(&problem, |(device, dtype, shape, lies, in_place)| {
                agree(&started, &streams, device, dtype, shape, lies, in_place);
                Ok(())
            })
            .unwrap();
        streams.iter().for_each(|s| s.sync().unwrap());
        let kinds: std::collections::BTreeSet<String> = started
            .runtime
            .counts()
            .into_iter()
            .map(|c| c.kernel)
            .collect();
        assert_eq!(kinds.len(), 6, "every kernel that can run did: {kinds:?}");
    });
}

#[test]
fn products_around_every_threshold_agree() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86,sm_120").start();
        for device in 0..2 {
            let stream = started
                .runtime
                .stream(&started.device(&format!("fake:{device}")))
                .unwrap();
            for m in [0, 1, 15, 16, 17, 63, 64, 65] {
                for k in [0, 1, 3, 5, 7, 8, 9, 15, 16, 24] {
                    for dtype in [F32, F16] {
                        let product =
                            Uploaded::new(&stream, problems::matmul(m, 1, k, dtype)).unwrap();
                        let selection = started
                            .runtime
                            .explain_call(&product.call(), stream.device())
                            .unwrap();
                        let launched = stream.dispatch(&product.call()).unwrap();
                        assert_eq!(
                            launched.kernel(&started.runtime),
                            selection.chosen.unwrap().kernel,
                            "M {m} K {k} on {device}"
                        );
                    }
                }
            }
            stream.sync().unwrap();
        }
    });
}

#[test]
fn a_length_that_moves_inside_its_interval_selects_nothing_anew() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        // The callback of `odd` counts how often it is asked; it reads K alone, so K is a class of its own and M is not.
        let asked = || Observer::new(overt_tests::built::fake(), "fake", "guard").count("K=7717");
        let product = |rows: i64| {
            let mut host = problems::matmul(1, 1, 7717, F16);
            let a = host.operands[0].as_ref().unwrap().bytes.clone();
            host.operands[0] = Some(HostTensor {
                shape: vec![rows, 7717],
                bytes: a.repeat(rows as usize),
                ..host.operands[0].clone().unwrap()
            });
            host.operands[problems::PRODUCT] =
                Some(HostTensor::contiguous(F16, &[rows, 1]).unwrap());
            Uploaded::new(&stream, host).unwrap()
        };
        let products: Vec<Uploaded> = (1..60).map(product).collect();
        assert_eq!(asked(), 0);
        for product in &products {
            assert_eq!(
                stream
                    .dispatch(&product.call())
                    .unwrap()
                    .kernel(&started.runtime),
                "fake/matmul_bt/odd"
            );
        }
        assert_eq!(asked(), 1, "59 lengths, one selection");
        stream.dispatch(&product(64).call()).unwrap();
        assert_eq!(asked(), 2, "64 rows cross the threshold of `split`");
        stream.sync().unwrap();
    });
}

#[test]
fn a_sequence_that_grows_by_a_token_a_step_keeps_its_kernel() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        for length in 1..40 {
            let attention = Attention {
                queries: vec![1],
                lengths: vec![length],
                page: 64,
                ..Attention::default()
            };
            let uploaded = Uploaded::new(&stream, attention.filled()).unwrap();
            assert_eq!(
                stream
                    .dispatch(&uploaded.call())
                    .unwrap()
                    .kernel(&started.runtime),
                "fake/paged_attention/narrow"
            );
            uploaded.check(&stream).unwrap();
        }
    });
}

#[test]
fn a_callback_sees_the_values_of_its_kernels_knobs() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let product = Uploaded::new(&stream, problems::matmul(1, 1, 35, F16)).unwrap();
        let served = || {
            let explained = started
                .runtime
                .explain_call(&product.call(), stream.device())
                .unwrap();
            let chosen = explained.chosen.as_ref().unwrap().kernel.clone();
            let launched = stream.dispatch(&product.call()).unwrap();
            assert_eq!(launched.kernel(&started.runtime), chosen);
            (chosen, explained.to_string())
        };
        assert_eq!(served().0, "fake/matmul_bt/odd");
        started.runtime.set_knob("fake.odd_divisor", "7").unwrap();
        let (chosen, words) = served();
        assert_ne!(chosen, "fake/matmul_bt/odd");
        assert!(words.contains("K is 35, a multiple of 7"), "{words}");
        started.runtime.set_knob("fake.odd_divisor", "9").unwrap();
        assert_eq!(served().0, "fake/matmul_bt/odd");
        stream.sync().unwrap();
    });
}

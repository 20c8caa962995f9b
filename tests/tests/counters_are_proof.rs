//! Scenario 8 and promises 2 and 6: right numbers from the wrong kernel fail, counts are exact under contention and over replays, and
//! what receipts say is what an independent observer saw.

use overt::kernels::dtype::{BF16, F32};
use overt::{Counts, Error, Policy, Runtime, Witness, WitnessError};
use overt_tests::case;
use overt_tests::problems;
use overt_tests::run::Uploaded;
use overt_tests::start::Fake;

#[test]
fn right_numbers_from_another_kernel_fail_and_name_what_ran() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        started.runtime.set_knob("fake.tuned", "off").unwrap();
        let uploaded = Uploaded::new(&stream, problems::add(4, 8, F32)).unwrap();
        let witness = Witness::new();
        stream
            .dispatch(&uploaded.call().witnessed(&witness))
            .unwrap();
        uploaded.check(&stream).expect("the numbers are right");
        for error in [
            witness.assert_only("fake/add/aligned", 1),
            witness.assert_ran("fake/add/aligned", 1),
        ] {
            let error = error.unwrap_err();
            let text = error.to_string();
            assert!(
                matches!(
                    error,
                    WitnessError::Ran {
                        got: 0,
                        expected: 1,
                        ..
                    }
                ),
                "{text}"
            );
            assert!(
                text.contains("fake/add/aligned ran 0 time(s)")
                    && text.contains("fake/add/contiguous completed 1"),
                "{text}"
            );
        }
        witness.assert_only("fake/add/contiguous", 1).unwrap();
        assert!(witness.assert_only("fake/add/contiguous", 2).is_err());
    });
}

#[test]
fn a_witness_says_nothing_before_the_streams_were_synchronised() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86,sm_86").start();
        let streams: Vec<_> = ["fake:0", "fake:1"]
            .map(|d| started.runtime.stream(&started.device(d)).unwrap())
            .into();
        let uploaded: Vec<_> = streams
            .iter()
            .map(|s| Uploaded::new(s, problems::add(4, 8, F32)).unwrap())
            .collect();
        let witness = Witness::new();
        for (stream, uploaded) in streams.iter().zip(&uploaded) {
            stream
                .dispatch(&uploaded.call().witnessed(&witness))
                .unwrap();
        }
        assert_eq!(
            witness.assert_only("fake/add/aligned", 2),
            Err(WitnessError::NotSynchronised { streams: 2 })
        );
        streams[0].sync().unwrap();
        assert_eq!(
            witness.seen(),
            Err(WitnessError::NotSynchronised { streams: 1 })
        );
        streams[1].sync().unwrap();
        witness.assert_only("fake/add/aligned", 2).unwrap();
    });
}

#[test]
fn a_witness_counts_its_own_calls_alone() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let stream = started.runtime.stream(&started.device("fake")).unwrap();
                    let (mine, other) = (
                        Uploaded::new(&stream, problems::add(4, 8, F32)).unwrap(),
                        Uploaded::new(&stream, problems::add(2, 8, BF16)).unwrap(),
                    );
                    let witness = Witness::new();
                    for _ in 0..100 {
                        stream.dispatch(&mine.call().witnessed(&witness)).unwrap();
                        stream.dispatch(&other.call()).unwrap();
                    }
                    stream.sync().unwrap();
                    witness.assert_only("fake/add/aligned", 100).unwrap();
                });
            }
        });
        assert_eq!(started.runtime.counts_of("fake/add/aligned").completed, 400);
        assert_eq!(
            started.runtime.counts_of("fake/add/contiguous").completed,
            400
        );
    });
}

/// Eight threads, each with a stream of its own, on two devices, while another thread reads.
fn contend(runtime: &Runtime, each: u64) -> Vec<(String, Counts)> {
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                let device = runtime.device(&format!("fake:{}", thread % 2)).unwrap();
                let stream = runtime.stream(&device).unwrap();
                let (sum, product) = (
                    Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap(),
                    Uploaded::new(&stream, problems::matmul(2, 2, 8, F32)).unwrap(),
                );
                for round in 0..each {
                    stream.dispatch(&sum.call()).unwrap();
                    if round % 4 == 0 {
                        stream.dispatch(&product.call()).unwrap();
                    }
                    if round % 97 == 0 {
                        stream.sync().unwrap();
                    }
                }
                stream.sync().unwrap();
            });
        }
        scope.spawn(|| {
            let mut before = 0;
            for _ in 0..200 {
                let now: u64 = runtime.counts().iter().map(|c| c.counts.enqueued).sum();
                assert!(now >= before, "a count went back from {before} to {now}");
                before = now;
            }
        });
    });
    runtime
        .counts()
        .into_iter()
        .map(|c| (format!("{} {}", c.kernel, c.device), c.counts))
        .collect()
}

#[test]
fn counts_are_exact_under_contention_and_agree_with_the_recorder() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86,sm_120").start();
        let each = 1000;
        started.observer.start();
        let counts = contend(&started.runtime, each);
        let executed = started.observer.stop();
        let wanted = [
            ("fake/add/aligned fake:0", 4 * each),
            ("fake/add/sm90 fake:1", 4 * each),
            ("fake/matmul_bt/packed fake:0", each),
            ("fake/matmul_bt/packed fake:1", each),
        ];
        assert_eq!(counts.len(), wanted.len(), "{counts:?}");
        for (name, calls) in wanted {
            let (_, counts) = counts.iter().find(|(n, _)| n == name).unwrap();
            let same = Counts {
                selected: calls,
                enqueued: calls,
                completed: calls,
                launches: calls,
                fallbacks: 0,
                ..Counts::default()
            };
            assert_eq!(*counts, same, "{name}");
        }
        let seen = |symbol: &str| executed.iter().filter(|s| *s == symbol).count() as u64;
        assert_eq!(seen("fake_add_aligned"), 4 * each);
        assert_eq!(seen("fake_add_sm90"), 4 * each);
        assert_eq!(seen("fake_matmul_packed_plain"), 2 * each);
        assert_eq!(executed.len() as u64, 10 * each);
    });
}

#[test]
fn ten_replays_of_one_captured_launch_count_as_such() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let uploaded = Uploaded::new(&stream, problems::add(4, 8, F32)).unwrap();
        let witness = Witness::new();
        started.observer.start();
        let capture = stream.capture().unwrap();
        stream
            .dispatch(&uploaded.call().witnessed(&witness))
            .unwrap();
        let graph = capture.end().unwrap();
        stream.sync().unwrap();
        assert!(
            witness.assert_ran("fake/add/aligned", 1).is_err(),
            "a capture runs nothing"
        );
        for _ in 0..10 {
            graph.replay(&stream).unwrap();
        }
        let pending = started.runtime.counts_of("fake/add/aligned");
        assert_eq!(
            (
                pending.captured,
                pending.replayed,
                pending.completed,
                pending.enqueued
            ),
            (1, 10, 0, 0)
        );
        stream.sync().unwrap();
        let counts = started.runtime.counts_of("fake/add/aligned");
        assert_eq!(
            counts,
            Counts {
                selected: 1,
                captured: 1,
                replayed: 10,
                completed: 10,
                launches: 10,
                ..Counts::default()
            }
        );
        assert_eq!(started.observer.stop(), vec!["fake_add_aligned"; 10]);
        witness.assert_only("fake/add/aligned", 10).unwrap();
        uploaded.check(&stream).unwrap();
    });
}

#[test]
fn a_failure_that_surfaces_later_names_the_launches_since_the_last_good_synchronise() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").misbehaving("fail_async").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let (sum, product) = (
            Uploaded::new(&stream, problems::add(4, 8, F32)).unwrap(),
            Uploaded::new(&stream, problems::matmul(2, 2, 8, F32)).unwrap(),
        );
        let witness = Witness::new();
        for _ in 0..3 {
            stream.dispatch(&sum.call().witnessed(&witness)).unwrap();
        }
        stream.dispatch(&product.call()).unwrap();
        let error = stream.sync().unwrap_err();
        let Error::Async {
            launches, words, ..
        } = &error
        else {
            panic!("{error}")
        };
        assert_eq!(
            launches,
            &[
                ("fake/add/aligned".to_owned(), 3),
                ("fake/matmul_bt/packed".to_owned(), 1)
            ]
        );
        assert!(words.contains("the device raised a fault"), "{error}");
        let counts = started.runtime.counts_of("fake/add/aligned");
        assert_eq!(
            (counts.enqueued, counts.completed, counts.failed),
            (3, 0, 3)
        );
        assert!(witness.assert_ran("fake/add/aligned", 3).is_err());
        // It was reported once, and the stream works again.
        stream.sync().unwrap();
    });
}

#[test]
fn an_explanation_counts_and_opens_nothing() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").policy(Policy::strict()).start();
        let problem = problems::problem(&started.runtime, &problems::add(4, 8, F32));
        for _ in 0..10 {
            started
                .runtime
                .explain(&problem, &started.device("fake"))
                .unwrap();
        }
        assert!(started.runtime.counts().is_empty());
        for entry in ["open", "open_kernel", "launch", "stream", "alloc"] {
            assert_eq!(started.observer.count(entry), 0, "{entry}");
        }
    });
}

//! Receipts are held against declarations: a launch that does something else than it says is a guard lie, reported by name and
//! counted for what really ran; one that is refused leaves the counters alone.

use overt::kernels::dtype::F32;
use overt::{Counts, Error, GuardLie, Stream, Witness};
use overt_tests::case;
use overt_tests::problems;
use overt_tests::run::Uploaded;
use overt_tests::start::{Fake, Started};

fn lie(how: &str) -> (Started, Stream, Witness, Error) {
    let started = Fake::of("sm_86").misbehaving(how).start();
    let stream = started.runtime.stream(&started.device("fake")).unwrap();
    let uploaded = Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap();
    let witness = Witness::new();
    let error = stream
        .dispatch(&uploaded.call().witnessed(&witness))
        .unwrap_err();
    (started, stream, witness, error)
}

fn told(error: &Error) -> &GuardLie {
    match error {
        Error::GuardLie(lie) => lie,
        other => panic!("{other}"),
    }
}

#[test]
fn a_receipt_that_names_another_kernel_is_counted_for_that_one() {
    case!("fake", [Gcc], || {
        let (started, stream, witness, error) = lie("lie_symbol");
        let lie = told(&error);
        assert_eq!(
            (lie.kernel.as_str(), lie.device.as_str()),
            ("fake/add/aligned", "fake:0")
        );
        assert_eq!(lie.owner, ["fake/add/reference"]);
        let text = error.to_string();
        for part in [
            "fake/add/aligned on fake:0 was selected",
            "`fake_add_reference` was launched",
            "that is a symbol of fake/add/reference",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        stream.sync().unwrap();
        let (said, ran) = (
            started.runtime.counts_of("fake/add/aligned"),
            started.runtime.counts_of("fake/add/reference"),
        );
        assert_eq!(
            said,
            Counts {
                selected: 1,
                lies: 1,
                ..Counts::default()
            }
        );
        assert_eq!((ran.enqueued, ran.completed), (1, 1));
        let error = witness
            .assert_only("fake/add/aligned", 1)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("fake/add/reference completed 1") && error.contains("lied 1"),
            "{error}"
        );
    });
}

#[test]
fn a_symbol_that_nobody_declares_and_an_image_that_is_not_its_own_are_lies() {
    case!("fake", [Gcc], || {
        let (started, _, witness, error) = lie("lie_foreign");
        assert!(
            told(&error).said.contains("`fake_foreign`") && told(&error).owner.is_empty(),
            "{error}"
        );
        assert_eq!(started.runtime.counts_of("fake/add/aligned").lies, 1);
        assert!(witness.assert_ran("fake/add/aligned", 1).is_err());
        let (_, _, _, error) = lie("lie_second");
        assert!(
            told(&error)
                .said
                .contains("`fake_add_reference` was launched as well"),
            "{error}"
        );
        assert_eq!(told(&error).owner, ["fake/add/reference"]);
        // The norms have images; their launch enqueues a body out of none of them.
        let started = Fake::of("sm_86").misbehaving("lie_symbol").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let uploaded = Uploaded::new(&stream, problems::rms_norm(2, 8)).unwrap();
        let error = stream.dispatch(&uploaded.call()).unwrap_err();
        assert!(told(&error).said.contains("fake_norm_stranger"), "{error}");
    });
}

#[test]
fn a_launch_that_does_nothing_is_a_lie_and_does_not_count_as_run() {
    case!("fake", [Gcc], || {
        let (started, stream, witness, error) = lie("lie_nothing");
        assert!(
            told(&error)
                .said
                .contains("nothing was launched for non-empty work"),
            "{error}"
        );
        stream.sync().unwrap();
        assert_eq!(
            started.runtime.counts_of("fake/add/aligned"),
            Counts {
                selected: 1,
                lies: 1,
                ..Counts::default()
            }
        );
        let error = witness
            .assert_ran("fake/add/aligned", 1)
            .unwrap_err()
            .to_string();
        assert!(error.contains("lied 1"), "{error}");
        assert_eq!(started.observer.count("body"), 0);
    });
}

#[test]
fn unsupported_after_accepting_and_a_refused_launch_leave_the_counters_alone() {
    case!("fake", [Gcc], || {
        for (how, words) in [
            (
                "unsupported",
                "not supported: this shape is not supported after all",
            ),
            ("refuse", "the driver refuses the launch"),
            ("panic:launch", "told to panic in launch"),
        ] {
            let (started, stream, witness, error) = lie(how);
            let Error::Launch {
                kernel,
                device,
                enqueued,
                ..
            } = &error
            else {
                panic!("{error}")
            };
            assert_eq!(
                (kernel.as_str(), device.as_str(), *enqueued),
                ("fake/add/aligned", "fake:0", 0)
            );
            assert!(error.to_string().contains(words), "{error}");
            stream.sync().unwrap();
            let counts = started.runtime.counts_of("fake/add/aligned");
            assert_eq!(
                counts,
                Counts {
                    selected: 1,
                    ..Counts::default()
                },
                "{how}"
            );
            // No other kernel stepped in.
            assert_eq!(started.runtime.counts().len(), 1);
            assert!(witness.seen().unwrap().kernels.is_empty());
        }
    });
}

#[test]
fn a_lie_inside_a_capture_is_told_while_capturing() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").misbehaving("lie_symbol").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let uploaded = Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap();
        let capture = stream.capture().unwrap();
        let error = stream.dispatch(&uploaded.call()).unwrap_err();
        told(&error);
        drop(capture);
        stream.sync().unwrap();
        let counts = started.runtime.counts_of("fake/add/reference");
        assert_eq!(
            (counts.enqueued, counts.completed),
            (0, 0),
            "what was captured has not run"
        );
    });
}

//! Scenario 3: an attribute or optional operand away from its default rejects every kernel that does not declare it.

use overt::Error;
use overt::kernels::dtype::F16;
use overt::kernels::schema::AttrValue;
use overt_tests::case;
use overt_tests::problems::{self, Attention};
use overt_tests::run::{Uploaded, verified};
use overt_tests::start::Fake;

/// Each way away from the defaults, and what the rejection says.
fn departures() -> Vec<(Attention, &'static str)> {
    let base = Attention::default;
    vec![
        (
            base().attr("softcap", AttrValue::F64(50.0)),
            "attribute softcap is 50; this kernel does not handle it (default 0)",
        ),
        (
            base().attr("softcap", AttrValue::F64(1e-30)),
            "attribute softcap is",
        ),
        (
            base().attr("window", AttrValue::I64(7)),
            "attribute window is 7; this kernel does not handle it (default 0)",
        ),
        (
            Attention {
                sinks: true,
                ..base()
            },
            "operand sinks is given; this kernel does not handle it",
        ),
    ]
}

#[test]
fn kernels_that_do_not_declare_an_attribute_are_rejected_when_it_is_set() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        for (attention, words) in departures() {
            let uploaded = Uploaded::new(&stream, attention.filled()).unwrap();
            let error = stream.dispatch(&uploaded.call()).unwrap_err();
            let Error::NoKernel(selection) = &error else {
                panic!("{error}")
            };
            for kernel in ["fake/paged_attention/narrow", "fake/paged_attention/wide"] {
                let rejected = selection
                    .rejected
                    .iter()
                    .find(|r| r.kernel == kernel)
                    .unwrap();
                assert_eq!(rejected.reasons.len(), 1, "{selection}");
                assert!(
                    rejected.reasons[0].to_string().contains(words),
                    "{words}: {selection}"
                );
            }
        }
        assert_eq!(started.observer.count("launch"), 0);
    });
}

#[test]
fn a_kernel_that_declares_them_serves_and_is_right() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_120").start();
        for (attention, _) in departures() {
            let (kernel, _) = verified(
                &started.runtime,
                &started.device("fake"),
                attention.filled(),
            );
            assert_eq!(kernel, "fake/paged_attention/soft");
        }
    });
}

#[test]
fn given_at_their_defaults_they_reject_nobody() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        for softcap in [0.0, -0.0] {
            let attention = Attention::default()
                .attr("softcap", AttrValue::F64(softcap))
                .attr("window", AttrValue::I64(0))
                .attr("causal", AttrValue::Bool(true));
            assert_eq!(
                verified(
                    &started.runtime,
                    &started.device("fake"),
                    attention.filled()
                )
                .0,
                "fake/paged_attention/narrow"
            );
        }
        // An attribute that is handled may have any value.
        let attention = Attention::default().attr("causal", AttrValue::Bool(false));
        assert_eq!(
            verified(
                &started.runtime,
                &started.device("fake"),
                attention.filled()
            )
            .0,
            "fake/paged_attention/narrow"
        );
    });
}

#[test]
fn an_optional_operand_is_handled_or_rejects() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let geometry = overt::kernels::op::Geometry {
            name: "bias".into(),
            symbols: [("M", 2), ("N", 3), ("K", 8)]
                .map(|(n, v)| (n.to_owned(), v))
                .to_vec(),
            dtypes: ["a", "b", "bias", "out"]
                .map(|n| (n.to_owned(), F16))
                .to_vec(),
            present: vec!["bias".into()],
            ..Default::default()
        };
        let host = problems::filled(&overt::kernels::ops::matmul_bt::OP, &geometry, 3);
        let (kernel, _) = verified(&started.runtime, &started.device("fake"), host);
        assert_eq!(kernel, "fake/matmul_bt/odd");
    });
}

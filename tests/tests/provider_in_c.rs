//! A provider in plain C, built by gcc against the header alone, driven through the whole runtime.

use overt::kernels::dtype::{BF16, F16, F32};
use overt::kernels::host::HostCall;
use overt::{Error, Runtime, Step, Witness};
use overt_tests::run::{Uploaded, verified};
use overt_tests::{built, case, problems};
use std::collections::BTreeSet;
use std::sync::Arc;

fn start() -> Runtime {
    Runtime::builder()
        .search(false)
        .providers(built::minimal())
        .start()
        .unwrap()
}

#[test]
fn every_geometry_of_the_sum_is_right_and_the_witness_saw_its_kernel() {
    case!("minimal", [Gcc], || {
        let runtime = start();
        let device = runtime.device("minimal").unwrap();
        let op = runtime.op("add").unwrap().common().unwrap();
        let schema = Arc::new(op.parse().unwrap());
        let (mut ran, mut served) = (BTreeSet::new(), 0);
        for geometry in (op.geometries)() {
            let mut host = HostCall::from_geometry(&schema, &geometry).unwrap();
            (op.fill)(&mut host, 5);
            let problem = problems::problem(&runtime, &host);
            if runtime.explain(&problem, &device).unwrap().chosen.is_none() {
                continue;
            }
            served += 1;
            let (kernel, launched) = verified(&runtime, &device, host);
            if launched.launches > 0 {
                ran.insert(kernel);
            }
        }
        assert!(served >= 10, "{served} geometries were served");
        // The odd geometries leave gaps; this one has none.
        ran.insert(verified(&runtime, &device, problems::add(5, 16, F32)).0);
        assert_eq!(
            ran.into_iter().collect::<Vec<_>>(),
            ["minimal/add/contiguous", "minimal/add/strided"]
        );
    });
}

#[test]
fn both_of_its_kernels_can_be_pinned_and_are_what_runs() {
    case!("minimal", [Gcc], || {
        for kernel in ["minimal/add/contiguous", "minimal/add/strided"] {
            let runtime = start();
            runtime
                .set_policy(overt::Policy::default().pin("add.1", kernel))
                .unwrap();
            assert_eq!(
                verified(
                    &runtime,
                    &runtime.device("minimal").unwrap(),
                    problems::add(5, 16, F32)
                )
                .0,
                kernel
            );
        }
        let runtime = start();
        for dtype in [F16, BF16] {
            assert_eq!(
                verified(
                    &runtime,
                    &runtime.device("minimal").unwrap(),
                    problems::add(5, 16, dtype)
                )
                .0,
                "minimal/add/strided"
            );
        }
    });
}

#[test]
fn its_optional_entries_are_missed_by_name_and_a_step_does_without() {
    case!("minimal", [Gcc], || {
        let runtime = start();
        let stream = runtime.stream(&runtime.device("minimal").unwrap()).unwrap();
        let sum = Uploaded::new(&stream, problems::add(3, 8, F32)).unwrap();
        let error = stream.capture().map(drop).unwrap_err();
        assert!(
            matches!(&error, Error::Unsupported { provider, entry: "capture_begin" } if provider == "minimal"),
            "{error}"
        );
        let (witness, mut step) = (Witness::new(), Step::new());
        for _ in 0..3 {
            step.run(&stream, &[&sum.call().witnessed(&witness)])
                .unwrap();
        }
        stream.sync().unwrap();
        assert_eq!((step.captures(), step.replays()), (0, 0));
        witness.assert_only("minimal/add/contiguous", 3).unwrap();
        sum.check(&stream).unwrap();
    });
}

#[test]
fn it_lives_beside_a_provider_in_rust() {
    case!("minimal", [Gcc], || {
        let runtime = Runtime::builder()
            .search(false)
            .providers(built::minimal())
            .providers(built::fake())
            .start()
            .unwrap();
        for (device, kernel) in [
            ("minimal", "minimal/add/contiguous"),
            ("fake", "fake/add/aligned"),
        ] {
            assert_eq!(
                verified(
                    &runtime,
                    &runtime.device(device).unwrap(),
                    problems::add(2, 8, F32)
                )
                .0,
                kernel
            );
        }
    });
}

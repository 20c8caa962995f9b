//! Capture and replay: what must be prepared is refused with the capture intact, replays check the facts they were captured for, and a
//! graph keeps what it needs alive.

use overt::kernels::dtype::{BF16, F16, F32};
use overt::kernels::host::HostTensor;
use overt::{Error, Step, Witness};
use overt_tests::case;
use overt_tests::problems::{self, Attention};
use overt_tests::run::Uploaded;
use overt_tests::start::Fake;

#[test]
fn a_dispatch_that_was_not_prepared_is_refused_and_the_capture_stays_valid() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let (product, sum) = (
            Uploaded::new(&stream, problems::matmul(2, 2, 5, F32)).unwrap(),
            Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap(),
        );
        let plan = started
            .runtime
            .plan(&product.call(), stream.device())
            .unwrap();
        assert_eq!(plan.kernel(), "fake/matmul_bt/prepared");
        let capture = stream.capture().unwrap();
        let error = stream.dispatch(&product.call()).unwrap_err();
        assert!(
            matches!(error, Error::PrepareFirst { .. })
                && error.to_string().contains("prepare first"),
            "{error}"
        );
        stream.dispatch(&sum.call()).unwrap();
        plan.launch(&stream).unwrap();
        let graph = capture.end().unwrap();
        assert_eq!(
            graph.kernels(),
            ["fake/add/aligned", "fake/matmul_bt/prepared"]
        );
        graph.replay(&stream).unwrap();
        sum.check(&stream).unwrap();
        product.check(&stream).unwrap();
    });
}

#[test]
fn what_a_capturing_stream_cannot_do_is_refused_and_the_capture_stays_valid() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let sum = Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap();
        let out = sum.tensors[2].as_ref().unwrap();
        let mut event = overt::Event::new(stream.device()).unwrap();
        event.record(&stream).unwrap();
        let capture = stream.capture().unwrap();
        for error in [
            stream.sync(),
            stream.flush(),
            stream.is_done().map(drop),
            stream.read_vec(out).map(drop),
            stream.write(out, &[0; 64]),
            event.record(&stream),
            stream.wait_for(&event),
            stream.capture().map(drop),
        ] {
            assert!(matches!(error, Err(Error::Capture { .. })), "{error:?}");
        }
        stream.dispatch(&sum.call()).unwrap();
        let graph = capture.end().unwrap();
        graph.replay(&stream).unwrap();
        sum.check(&stream).unwrap();
    });
}

#[test]
fn a_kernel_that_cannot_be_captured_is_rejected_while_capturing() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let mut host = problems::add(3, 8, BF16);
        for operand in host.operands.iter_mut().flatten() {
            let values = operand.to_f64().unwrap();
            let mut strided = HostTensor::with_strides(BF16, &[3, 8], &[11, 1]).unwrap();
            let mut values = values.into_iter();
            strided
                .fill_with(|| values.next().unwrap_or_default())
                .unwrap();
            *operand = strided;
        }
        let sum = Uploaded::new(&stream, host).unwrap();
        assert_eq!(
            stream
                .dispatch(&sum.call())
                .unwrap()
                .kernel(&started.runtime),
            "fake/add/uncaptured"
        );
        let capture = stream.capture().unwrap();
        stream.dispatch(&sum.call()).unwrap();
        assert_eq!(capture.end().unwrap().kernels(), ["fake/add/reference"]);
        let text = started
            .runtime
            .explain(
                &overt::Problem::of(&sum.call()).capturing(true),
                stream.device(),
            )
            .unwrap()
            .to_string();
        assert!(
            text.contains("the stream is capturing; this kernel cannot be captured"),
            "{text}"
        );
    });
}

#[test]
fn a_change_of_knob_policy_or_provider_makes_plans_and_graphs_stale() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let sum = Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap();
        let changes: [&dyn Fn(); 3] = [
            &|| started.runtime.set_knob("fake.split", "3").unwrap(),
            &|| started.runtime.set_policy(overt::Policy::strict()).unwrap(),
            &|| {
                started
                    .runtime
                    .load_provider(overt_tests::built::fake2())
                    .unwrap()
            },
        ];
        for change in changes {
            let plan = started.runtime.plan(&sum.call(), stream.device()).unwrap();
            let capture = stream.capture().unwrap();
            plan.launch(&stream).unwrap();
            let graph = capture.end().unwrap();
            graph.replay(&stream).unwrap();
            let before = started.runtime.counts_of("fake/add/aligned").launches;
            change();
            assert!(matches!(
                plan.launch(&stream),
                Err(Error::Stale { what: "plan" })
            ));
            assert!(matches!(
                graph.replay(&stream),
                Err(Error::Stale { what: "graph" })
            ));
            assert_eq!(
                started.runtime.counts_of("fake/add/aligned").launches,
                before
            );
            // Work in flight goes on.
            stream.sync().unwrap();
            sum.check(&stream).unwrap();
        }
    });
}

#[test]
fn a_step_replays_while_its_facts_hold_and_captures_again_when_one_crosses() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let attention = Uploaded::new(
            &stream,
            Attention {
                lengths: vec![16, 15],
                ..Attention::default()
            }
            .filled(),
        )
        .unwrap();
        let (witness, mut step) = (Witness::new(), Step::new());
        stream.dispatch(&attention.call()).unwrap();
        for length in 16..=20 {
            let call = attention
                .call()
                .attr("max_seq_len", length.min(20))
                .unwrap()
                .witnessed(&witness);
            step.run(&stream, &[&call]).unwrap();
        }
        stream.sync().unwrap();
        assert_eq!(
            (step.captures(), step.replays()),
            (1, 5),
            "{:?}",
            step.last_crossing()
        );
        witness
            .assert_only("fake/paged_attention/narrow", 5)
            .unwrap();
        attention.check(&stream).unwrap();
        // Another operand, or another attribute, is another step.
        let other = Uploaded::new(
            &stream,
            Attention {
                lengths: vec![16, 15],
                ..Attention::default()
            }
            .filled(),
        )
        .unwrap();
        step.run(&stream, &[&other.call()]).unwrap();
        assert_eq!(step.captures(), 2);
        assert!(
            step.last_crossing().unwrap().contains("is other memory"),
            "{:?}",
            step.last_crossing()
        );
        step.run(&stream, &[&other.call().attr("scale", 0.5).unwrap()])
            .unwrap();
        assert_eq!(step.captures(), 3);
        assert!(
            step.last_crossing().unwrap().contains("attribute `scale`"),
            "{:?}",
            step.last_crossing()
        );
        stream.sync().unwrap();
    });
}

#[test]
fn a_graph_keeps_operands_and_workspace_alive() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        // `split` has workspace.
        let product = Uploaded::new(&stream, problems::matmul(64, 2, 5, F32)).unwrap();
        let (op, host, tensors) = (
            product.op.clone(),
            product.host.clone(),
            product.tensors.clone(),
        );
        let capture = stream.capture().unwrap();
        stream.dispatch(&product.call()).unwrap();
        let graph = capture.end().unwrap();
        let out = tensors[problems::PRODUCT].clone();
        drop((product, tensors));
        // Memory that was freed too early would be handed out again here.
        for round in 0..8 {
            let other = Uploaded::new(&stream, problems::matmul(64, 2, 5, F32)).unwrap();
            stream.dispatch(&other.call()).unwrap();
            stream
                .fill(other.tensors[0].as_ref().unwrap(), round)
                .unwrap();
        }
        graph.replay(&stream).unwrap();
        stream.sync().unwrap();
        Uploaded {
            op,
            host,
            tensors: vec![None, None, None, None, out],
        }
        .check(&stream)
        .unwrap();
    });
}

#[test]
fn an_imported_null_stream_works_and_cannot_be_captured() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        // SAFETY: the null stream is the device's own.
        let stream =
            unsafe { overt::Stream::import(&started.runtime, &started.device("fake"), 0) }.unwrap();
        let sum = Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap();
        stream.dispatch(&sum.call()).unwrap();
        sum.check(&stream).unwrap();
        let error = stream.capture().map(drop).unwrap_err().to_string();
        assert!(
            error.contains("not allowed while capturing") && error.contains("default stream"),
            "{error}"
        );
        stream.dispatch(&sum.call()).unwrap();
        sum.check(&stream).unwrap();
    });
}

#[test]
fn packed_weights_are_packed_once_and_taken_by_their_kernel_alone() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let mut product = Uploaded::new(&stream, problems::matmul(3, 5, 16, F32)).unwrap();
        let packed = stream.pack_weight(&product.call(), "b").unwrap();
        let again = stream.pack_weight(&product.call(), "b").unwrap();
        assert_eq!(started.observer.count("weights_pack"), 1);
        assert!(std::sync::Arc::ptr_eq(
            packed.allocation(),
            again.allocation()
        ));
        product.tensors[1] = Some(packed);
        stream.sync().unwrap();
        started.observer.start();
        stream.dispatch(&product.call()).unwrap();
        product.check(&stream).unwrap();
        assert_eq!(started.observer.stop(), ["fake_matmul_packed"]);
        // Kernels that do not know the layout are rejected for it.
        started
            .runtime
            .set_policy(overt::Policy::default().deny("fake/matmul_bt/packed"))
            .unwrap();
        let error = stream.dispatch(&product.call()).unwrap_err().to_string();
        assert!(
            error.contains("b is packed for another kernel; this one takes the plain layout"),
            "{error}"
        );
        // One that takes the plain layout hands the weight back as it is.
        let halves = Uploaded::new(&stream, problems::matmul(3, 5, 16, F16)).unwrap();
        assert!(std::sync::Arc::ptr_eq(
            stream
                .pack_weight(&halves.call(), "b")
                .unwrap()
                .allocation(),
            halves.tensors[1].as_ref().unwrap().allocation()
        ));
    });
}

#[test]
fn an_empty_call_is_matched_in_a_replay_and_crosses_when_it_is_empty_no_more() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let (empty, full) = (
            Uploaded::new(&stream, problems::add(0, 8, F32)).unwrap(),
            Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap(),
        );
        stream.dispatch(&full.call()).unwrap();
        let capture = stream.capture().unwrap();
        stream.dispatch(&empty.call()).unwrap();
        stream.dispatch(&full.call()).unwrap();
        let graph = capture.end().unwrap();
        assert_eq!((graph.len(), graph.launches()), (1, 1));
        graph
            .replay_for(&stream, &[&empty.call(), &full.call()])
            .unwrap();
        for calls in [
            vec![&full.call(), &full.call()],
            vec![&full.call()],
            vec![&full.call(), &empty.call()],
        ] {
            let error = graph.replay_for(&stream, &calls).unwrap_err();
            assert!(matches!(error, Error::Crossed { .. }), "{error}");
        }
        full.check(&stream).unwrap();
    });
}

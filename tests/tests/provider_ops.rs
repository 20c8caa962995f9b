//! Ops of a provider's own, and ops that a provider was built for in another version.

use overt::kernels::dtype::F32;
use overt::{Call, Tensor, Witness};
use overt_tests::start::Fake;
use overt_tests::{built, case, problems};

#[test]
fn a_providers_own_op_is_bound_selected_run_and_counted_like_any_other() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let op = started.runtime.op("fake:scale").unwrap();
        assert_eq!(
            (op.name(), op.provider(), op.verifiable()),
            ("fake:scale.1", Some("fake"), true)
        );
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let (x, out) = (
            Tensor::empty(stream.device(), F32, &[4]).unwrap(),
            Tensor::empty(stream.device(), F32, &[4]).unwrap(),
        );
        let values: Vec<u8> = [1f32, -2.5, 0.0, 8.0]
            .iter()
            .flat_map(|v| v.to_ne_bytes())
            .collect();
        stream.write(&x, &values).unwrap();
        let witness = Witness::new();
        let call = Call::new(&op)
            .operand("x", &x)
            .unwrap()
            .operand("out", &out)
            .unwrap()
            .attr("by", 3.0)
            .unwrap();
        stream.dispatch(&call.witnessed(&witness)).unwrap();
        let got: Vec<f32> = stream
            .read_vec(&out)
            .unwrap()
            .chunks(4)
            .map(|b| f32::from_ne_bytes(b.try_into().unwrap()))
            .collect();
        assert_eq!(got, [3.0, -7.5, 0.0, 24.0]);
        witness.assert_only("fake/scale/plain", 1).unwrap();
        // Its schema binds as strictly as a common one.
        let long = Tensor::empty(stream.device(), F32, &[5]).unwrap();
        let error = stream
            .dispatch(&call.operand("out", &long).unwrap())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("fake:scale.1: operand `out` dimension 0 is 5"),
            "{error}"
        );
    });
}

#[test]
fn an_op_without_an_oracle_runs_and_is_shown_as_unverified() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let op = started.runtime.op("fake:opaque.1").unwrap();
        assert!(!op.verifiable());
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let x = Tensor::empty(stream.device(), F32, &[2]).unwrap();
        stream.write(&x, &[0, 0, 128, 63, 0, 0, 0, 64]).unwrap();
        stream
            .dispatch(&Call::new(&op).operand("x", &x).unwrap())
            .unwrap();
        assert_eq!(stream.read_vec(&x).unwrap(), [0, 0, 0, 64, 0, 0, 128, 64]);
    });
}

#[test]
fn one_name_with_two_digests_is_refused_and_the_provider_goes_on_without_it() {
    case!("fake2", [Gcc], || {
        let runtime = overt::Runtime::builder()
            .search(false)
            .providers(built::fake2())
            .start()
            .unwrap();
        let refused = runtime.refused_ops();
        assert_eq!(refused.len(), 1);
        let (provider, op, why) = &refused[0];
        assert_eq!((provider.as_str(), op.as_str()), ("fake2", "rms_norm.1"));
        let ours = format!("{:016x}", runtime.op("rms_norm").unwrap().schema().digest);
        assert!(
            why.contains("0123456789abcdef") && why.contains(&ours),
            "{why}"
        );
        let device = runtime.device("fake2").unwrap();
        let problem = problems::problem(&runtime, &problems::rms_norm(2, 8));
        let text = runtime.explain(&problem, &device).unwrap().to_string();
        assert!(
            text.contains("not fake2/rms_norm/stale") && text.contains("0123456789abcdef"),
            "{text}"
        );
        overt_tests::run::verified(&runtime, &device, problems::add(2, 8, F32));
    });
}

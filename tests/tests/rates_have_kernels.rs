//! What a device can do is measured by kernels that are named, and where none is fit for it the reason stands in the rate's place.

use overt::measure::{Arithmetic, Rates};
use overt::{Policy, Runtime};
use overt_tests::{case, start};

fn measure(runtime: &Runtime) -> Rates {
    let device = runtime.device("cpu").unwrap();
    Rates::measure(&runtime.stream(&device).unwrap()).unwrap()
}

#[test]
fn rates_name_the_kernel_that_was_timed_and_it_was_counted() {
    case!("cpu", [Avx2], || {
        let runtime = start::cpu()
            .knob("cpu.features", "avx2,fma,f16c")
            .start()
            .unwrap();
        let rates = measure(&runtime);
        for (rate, kernel) in [
            (&rates.memory, "cpu/memory_probe/avx2"),
            (&rates.f32, "cpu/arithmetic_probe/avx2"),
            (&rates.int8, "cpu/arithmetic_probe/avx2"),
        ] {
            let rate = rate.as_ref().unwrap();
            assert_eq!(rate.kernel, kernel);
            assert!(
                rate.per_second > 0.0 && rate.per_second.is_finite(),
                "{rate:?}"
            );
            assert!(runtime.counts_of(kernel).completed >= 2);
        }
        // AVX2 has no bf16 products: f32 multiply-adds do that work, and say so.
        assert!(rates.bf16.as_ref().unwrap_err().contains("reference"));
        assert_eq!(
            rates.arithmetic(Arithmetic::Bf16).unwrap().kernel,
            "cpu/arithmetic_probe/avx2"
        );
    });
}

#[test]
fn a_reference_kernel_is_no_measure() {
    case!("cpu", [], || {
        let runtime = start::cpu().knob("cpu.features", "none").start().unwrap();
        let rates = measure(&runtime);
        for rate in [&rates.memory, &rates.f32, &rates.bf16, &rates.int8] {
            let why = rate.as_ref().unwrap_err();
            assert!(why.contains("/reference alone serves it"), "{why}");
        }
        assert_eq!(runtime.counts_of("cpu/memory_probe/reference").selected, 0);
        assert!(rates.arithmetic(Arithmetic::Int8).is_err());
    });
}

#[test]
fn a_policy_that_refuses_the_probe_leaves_a_reason() {
    case!("cpu", [], || {
        let runtime = start::cpu().start().unwrap();
        let mut policy = Policy::default();
        for kernel in runtime.kernels() {
            if kernel.decl.id.contains("memory_probe") {
                policy = policy.deny(&kernel.decl.id);
            }
        }
        let runtime = start::cpu().policy(policy).start().unwrap();
        let rates = measure(&runtime);
        assert!(rates.memory.unwrap_err().contains("no kernel serves it"));
    });
}

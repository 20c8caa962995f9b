//! Every kernel of the Vulkan provider on two software devices: one that has narrow types, one that has none of them and smaller blocks. Where a
//! device lacks what a kernel needs the kernel is rejected by name, and all others are right.

use overt::Runtime;
use overt::verify::{Filter, KernelReport, State, Sweep};
use overt_kernels::ops;
use overt_tests::case;
use overt_tests::start;
use overt_tests::vulkan::{self, LAVAPIPE, SWIFTSHADER};
use std::collections::BTreeSet;

fn sweep(runtime: &Runtime, device: &str, op: Option<&str>) -> Vec<KernelReport> {
    let filter = Filter {
        device: Some(vulkan::device(runtime, device).name().to_owned()),
        op: op.map(str::to_owned),
        ..Filter::default()
    };
    Sweep::new(runtime)
        .filter(filter)
        .run(&mut |_| ())
        .unwrap()
        .kernels
}

/// Ops whose kernels a software driver compiles in seconds. The others take it minutes, which is for long runs.
const QUICK: [&str; 5] = [
    "add.1",
    "greedy_argmax.1",
    "memory_probe.1",
    "rope.1",
    "silu_and_mul.1",
];
/// More of them, for the faster of the two drivers.
const QUICK_ON_LAVAPIPE: [&str; 8] = [
    "add_rms_norm.1",
    "embedding.1",
    "gelu_and_mul.1",
    "moe_combine.1",
    "reshape_and_cache.1",
    "rms_norm.1",
    "softmax.1",
    "swiglu_clamped.1",
];

fn words(kernel: &KernelReport) -> String {
    let mut text = format!(
        "{} is {:?} after {} geometries",
        kernel.kernel, kernel.state, kernel.executed
    );
    for failure in kernel.failures.iter().take(3) {
        text.push_str(&format!("\n  {}: {}", failure.geometry, failure.what));
    }
    text
}

/// Those that ran, of which each ran something and was right, and those that this device cannot run.
fn split(kernels: Vec<KernelReport>) -> (Vec<KernelReport>, Vec<KernelReport>) {
    let (can, cannot): (Vec<_>, Vec<_>) = kernels
        .into_iter()
        .partition(|k| !matches!(k.state, State::NotRunnable { .. }));
    let wrong: Vec<String> = can
        .iter()
        .filter(|k| k.state != State::Passed || k.executed == 0 || !k.failures.is_empty())
        .map(words)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    (can, cannot)
}

fn op_names(kernels: &[KernelReport]) -> BTreeSet<String> {
    kernels.iter().map(|k| k.op.clone()).collect()
}

/// Kernels that need matrix instructions, which no software device has.
fn for_matrices(kernel: &str) -> bool {
    kernel.contains("coopmat")
}

#[test]
fn lavapipe_runs_the_kernels_that_it_compiles_quickly() {
    case!("vulkan", [Lavapipe], || {
        let runtime = vulkan::runtime();
        for op in QUICK.into_iter().chain(QUICK_ON_LAVAPIPE) {
            let (can, cannot) = split(sweep(&runtime, LAVAPIPE, Some(op)));
            assert!(!can.is_empty() && cannot.is_empty(), "{op}");
        }
    });
}

#[test]
fn every_kernel_is_right_on_lavapipe_and_every_op_has_one() {
    case!("vulkan", [Lavapipe, Long], || {
        let (can, cannot) = split(sweep(&vulkan::runtime(), LAVAPIPE, None));
        let all: BTreeSet<String> = ops::ALL.iter().map(|op| op.name.to_owned()).collect();
        assert_eq!(op_names(&can), all);
        for kernel in &cannot {
            assert!(for_matrices(&kernel.kernel), "{}", words(kernel));
        }
    });
}

/// Rejected for a feature or a limit of the device, by its name.
fn rejected_for_the_device(kernels: &[KernelReport]) {
    for kernel in kernels {
        let State::NotRunnable { reason } = &kernel.state else {
            panic!("{}", words(kernel));
        };
        assert!(
            reason.contains("device.feature.") || reason.contains("device.limit."),
            "{}: {reason}",
            kernel.kernel
        );
    }
}

#[test]
fn swiftshader_runs_portable_kernels_and_rejects_by_name_those_that_need_more() {
    case!("vulkan", [SwiftShader], || {
        let runtime = vulkan::runtime();
        for op in QUICK {
            let (can, cannot) = split(sweep(&runtime, SWIFTSHADER, Some(op)));
            assert!(!can.is_empty(), "{op}");
            rejected_for_the_device(&cannot);
        }
    });
}

#[test]
fn every_op_has_a_kernel_that_is_right_on_swiftshader() {
    case!("vulkan", [SwiftShader, Long], || {
        let runtime = vulkan::runtime();
        let (can, cannot) = split(sweep(&runtime, SWIFTSHADER, None));
        let all: BTreeSet<String> = ops::ALL.iter().map(|op| op.name.to_owned()).collect();
        assert_eq!(op_names(&can), all);
        rejected_for_the_device(&cannot);
    });
}

#[test]
fn the_validation_layer_has_nothing_to_say_of_any_kernel() {
    case!("vulkan", [Lavapipe, Validation, Long], || {
        let runtime = start::vulkan()
            .knob("vulkan.validation", "true")
            .start()
            .unwrap();
        split(sweep(&runtime, LAVAPIPE, None));
    });
}

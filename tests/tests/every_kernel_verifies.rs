//! Every kernel of the CPU provider is right over all geometries of its op, shown by its own receipts: on this machine's features,
//! and with them masked, so that one machine covers every rung.

use overt::verify::{Filter, KernelReport, State, Sweep};
use overt_tests::case;
use overt_tests::start;

/// Verifies each kernel of one rung, its name's last part, with the CPU's features masked.
fn sweep(features: &str, rung: &str) -> Vec<KernelReport> {
    let runtime = start::cpu().knob("cpu.features", features).start().unwrap();
    let ids: Vec<String> = runtime
        .kernels()
        .into_iter()
        .map(|kernel| kernel.decl.id)
        .filter(|id| id.ends_with(&format!("/{rung}")))
        .collect();
    let verify = |id: String| {
        let filter = Filter {
            kernel: Some(id),
            ..Filter::default()
        };
        Sweep::new(&runtime)
            .filter(filter)
            .run(&mut |_| ())
            .unwrap()
            .kernels
    };
    ids.into_iter().flat_map(verify).collect()
}

/// Every kernel of the report ran and passed, and there are as many as expected.
fn all_passed(kernels: &[KernelReport], expected: usize) {
    let wrong: Vec<String> = kernels
        .iter()
        .filter(|k| k.state != State::Passed || k.executed == 0 || !k.failures.is_empty())
        .map(describe)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let names: Vec<&str> = kernels.iter().map(|k| k.kernel.as_str()).collect();
    assert_eq!(names.len(), expected, "verified were {names:?}");
}

fn describe(kernel: &KernelReport) -> String {
    let mut text = format!(
        "{} is {:?} after {} geometries",
        kernel.kernel, kernel.state, kernel.executed
    );
    for failure in kernel.failures.iter().take(3) {
        text.push_str(&format!("\n  {}: {}", failure.geometry, failure.what));
    }
    text
}

#[test]
fn every_reference_kernel_is_right_whatever_the_cpu_has() {
    case!("cpu", [], || all_passed(&sweep("none", "reference"), 6));
}

#[test]
fn every_avx2_kernel_is_right() {
    case!("cpu", [Avx2], || all_passed(
        &sweep("avx2,fma,f16c", "avx2"),
        2
    ));
}

#[test]
fn every_avx512_kernel_is_right() {
    case!("cpu", [Avx512], || all_passed(&sweep("all", "avx512"), 2));
}

#[test]
fn a_masked_feature_takes_its_kernels_away_and_says_so() {
    case!("cpu", [], || {
        for rung in ["avx2", "avx512"] {
            let kernels = sweep("none", rung);
            assert_eq!(kernels.len(), 2);
            for kernel in &kernels {
                assert!(
                    matches!(&kernel.state, State::NotRunnable { reason } if reason.contains("no image")),
                    "{}",
                    describe(kernel)
                );
                assert_eq!(kernel.executed, 0, "{}", describe(kernel));
            }
        }
    });
}

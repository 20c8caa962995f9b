//! Every kernel of the CPU provider is right over all geometries of its op, shown by its own receipts: on this machine's features,
//! and with them masked, so that one machine covers every rung.

use overt::verify::{Filter, KernelReport, State, Sweep};
use overt::{Runtime, Tier};
use overt_kernels::ops;
use overt_tests::case;
use overt_tests::start;
use std::collections::BTreeSet;

/// The instructions of a kernel, by the last part of its image's id.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rung {
    Reference,
    Avx2,
    Avx512,
}

impl Rung {
    fn of(tier: Tier, images: &[String]) -> Rung {
        if images.iter().any(|image| image.contains("avx512")) {
            Rung::Avx512
        } else if images.iter().any(|image| image.contains("avx2")) {
            Rung::Avx2
        } else {
            assert_eq!(
                tier,
                Tier::Reference,
                "portable code is the reference's: {images:?}"
            );
            Rung::Reference
        }
    }
}

fn masked(features: &str) -> Runtime {
    start::cpu().knob("cpu.features", features).start().unwrap()
}

fn ids(runtime: &Runtime, rung: Rung) -> Vec<String> {
    runtime
        .kernels()
        .into_iter()
        .filter(|kernel| Rung::of(kernel.decl.tier, &kernel.decl.images) == rung)
        .map(|kernel| kernel.decl.id)
        .collect()
}

/// Verifies each kernel of one rung, with the CPU's features masked.
fn sweep(features: &str, rung: Rung) -> Vec<KernelReport> {
    let runtime = masked(features);
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
    ids(&runtime, rung).into_iter().flat_map(verify).collect()
}

/// Every kernel of the reports ran and passed.
fn all_passed(kernels: &[KernelReport]) {
    let wrong: Vec<String> = kernels
        .iter()
        .filter(|k| k.state != State::Passed || k.executed == 0 || !k.failures.is_empty())
        .map(describe)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!kernels.is_empty(), "nothing was verified");
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

/// The ops of these reports.
fn op_names(kernels: &[KernelReport]) -> BTreeSet<String> {
    kernels.iter().map(|k| k.op.clone()).collect()
}

#[test]
fn every_op_has_a_reference_kernel_that_is_right_whatever_the_cpu_has() {
    case!("cpu", [], || {
        let kernels = sweep("none", Rung::Reference);
        all_passed(&kernels);
        let all: BTreeSet<String> = ops::ALL.iter().map(|op| op.name.to_owned()).collect();
        assert_eq!(op_names(&kernels), all);
        assert_eq!(kernels.len(), all.len(), "one for each op");
        // It serves every geometry: no guard of its own.
        for kernel in &kernels {
            assert!(kernel.not_eligible.is_empty(), "{}", describe(kernel));
        }
    });
}

#[test]
fn every_op_has_an_avx2_kernel_and_all_of_them_are_right() {
    case!("cpu", [Avx2], || {
        let kernels = sweep("avx2,fma,f16c", Rung::Avx2);
        all_passed(&kernels);
        assert_eq!(op_names(&kernels).len(), ops::ALL.len());
    });
}

#[test]
fn every_avx512_kernel_is_right() {
    case!("cpu", [Avx512], || {
        let (can, cannot): (Vec<_>, Vec<_>) = sweep("all", Rung::Avx512)
            .into_iter()
            .partition(|k| !matches!(k.state, State::NotRunnable { .. }));
        all_passed(&can);
        // VNNI and bf16 products are features of their own.
        for kernel in &cannot {
            assert!(
                kernel.kernel.ends_with("vnni") || kernel.kernel.ends_with("bf16"),
                "{}",
                describe(kernel)
            );
        }
        assert_eq!(op_names(&can).len(), ops::ALL.len());
    });
}

#[test]
fn a_masked_feature_takes_its_kernels_away_and_says_so() {
    case!("cpu", [], || {
        for rung in [Rung::Avx2, Rung::Avx512] {
            let kernels = sweep("none", rung);
            assert!(kernels.len() >= ops::ALL.len());
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

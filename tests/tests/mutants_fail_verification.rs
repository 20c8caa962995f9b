//! The proof that verification can fail: on a copy of the sources the tails, the scales and the parts of the tuned bodies are put wrong,
//! and every tuned kernel of the CPU provider must then be reported as failed, by name. Long, since the provider is built three
//! times.
//!
//! One build holds the same sort of fault in all bodies at once, since each kernel is verified by itself.

use overt::Tier;
use overt::verify::{Filter, KernelReport, State, Sweep};
use overt_tests::case;
use overt_tests::hostile::Scratch;
use overt_tests::tree;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A sort of fault.
struct Mutant {
    what: &'static str,
    /// File under the provider's `src`, what stands there once, and what is put in its place.
    edits: &'static [(&'static str, &'static str, &'static str)],
    /// Parts of kernel ids that this fault cannot touch, each with the reason.
    spared: &'static [(&'static str, &'static str)],
}

const MUTANTS: [Mutant; 3] = [
    Mutant {
        what: "a tail that is one element short",
        edits: &[
            (
                "simd/avx2.rs",
                "fn head(self, n: usize) -> Head {",
                "fn head(self, n: usize) -> Head {\n        let n = n.saturating_sub(1);",
            ),
            (
                "simd/avx512.rs",
                "fn head(self, n: usize) -> __mmask16 {",
                "fn head(self, n: usize) -> __mmask16 {\n        let n = n.saturating_sub(1);",
            ),
        ],
        spared: &[("/arithmetic_probe/", "its vectors are always whole")],
    },
    Mutant {
        what: "a scale that is wrong or left out",
        edits: &[
            (
                "simd/rows/add.rs",
                "let sum = s.add(A::load(s, a.add(at)), B::load(s, b.add(at)));",
                "let sum = s.fma(s.splat(1.01), A::load(s, a.add(at)), B::load(s, b.add(at)));",
            ),
            (
                "simd/rows/rms_norm.rs",
                "(f64::from(squares) / width as f64 + eps)",
                "(f64::from(squares) / (width + 1) as f64 + eps)",
            ),
            ("simd/rows/gated.rs", "s.splat(-0.5)", "s.splat(-0.51)"),
            (
                "simd/rows/turn.rs",
                "        cos[i] = (c * amplitude) as f32;\n        sin[i] = (s * amplitude) as f32;\n    }\n    if far",
                "        cos[i] = c as f32;\n        sin[i] = s as f32;\n    }\n    if far",
            ),
            (
                "simd/rows/embedding.rs",
                "By::Times(args.scale));",
                "By::Times(1.0));",
            ),
            (
                "simd/rows/cache.rs",
                "scale => By::Over(scale),",
                "_ => By::Over(1.0),",
            ),
            (
                "simd/rows/softmax.rs",
                "let scale = s.splat(scale);",
                "let scale = s.splat(1.0 + 0.0 * scale);",
            ),
            (
                "simd/rows/sample/weights.rs",
                "s.div(s.sub(x, greatest), temperature)",
                "{ let _ = temperature; s.sub(x, greatest) }",
            ),
            (
                "simd/moe/combine.rs",
                "sum = s.fma(s.splat(weight.read()), x, sum);",
                "sum = s.fma(s.splat(1.01 * weight.read()), x, sum);",
            ),
            (
                "simd/moe/router.rs",
                "args.scale / sum",
                "1.01 * args.scale / sum",
            ),
            (
                "simd/attention/softmax.rs",
                "let scale = s.splat(self.scale);",
                "let scale = s.splat(1.05 * self.scale);",
            ),
            (
                "simd/matmul/finish.rs",
                "let mut v = s.load(self.sums.add(i * self.stride + at));",
                "let mut v = s.mul(s.splat(1.05), s.load(self.sums.add(i * self.stride + at)));",
            ),
            (
                "simd/quant/product/finish.rs",
                "let mut v = s.load(self.from.add(row * self.width + at));",
                "let mut v = s.mul(s.splat(1.05), s.load(self.from.add(row * self.width + at)));",
            ),
            (
                "simd/probe/sum.rs",
                "(sums[0] + sums[1]) + (sums[2] + sums[3])",
                "(sums[0] + sums[1]) + 1.01 * (sums[2] + sums[3])",
            ),
            (
                "arithmetic_probe/reference.rs",
                "u64::try_from(steps)",
                "u64::try_from(steps + steps.min(1))",
            ),
        ],
        spared: &[("/greedy_argmax/", "it has no scale")],
    },
    Mutant {
        what: "a part of the work that is dropped",
        edits: &[
            (
                "pool/mod.rs",
                "pub fn ranges(&self, count: usize, steps: u64, f: impl Fn(Range<usize>) + Sync) {",
                "pub fn ranges(&self, count: usize, steps: u64, f: impl Fn(Range<usize>) + Sync) {\n        let count = if count > 1 { count - 1 } else { count };",
            ),
            (
                "paged_attention/tuned.rs",
                "share(pool, &plan, &plan.items, plan.cost,",
                "share(pool, &plan, &plan.items[usize::from(plan.items.len() > 1)..], plan.cost,",
            ),
        ],
        spared: &[],
    },
];

/// Builds the provider of a tree into a folder of its own, so that the libraries of two mutants are two files.
fn build(tree: &Path, target: &Path) -> PathBuf {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--lib", "--package", "overt-provider-cpu"])
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    target.join("debug/libovert_cpu.so")
}

/// Verifies every tuned kernel that this machine can run.
fn verify(library: &Path) -> Vec<KernelReport> {
    let runtime = overt::Runtime::builder()
        .search(false)
        .providers(library)
        .start()
        .unwrap();
    let tuned: Vec<String> = runtime
        .kernels()
        .into_iter()
        .filter(|kernel| kernel.decl.tier == Tier::Tuned)
        .map(|kernel| kernel.decl.id)
        .collect();
    assert!(tuned.len() > 20, "{tuned:?}");
    tuned
        .into_iter()
        .flat_map(|kernel| {
            let filter = Filter {
                kernel: Some(kernel),
                ..Filter::default()
            };
            Sweep::new(&runtime)
                .filter(filter)
                .run(&mut |_| ())
                .unwrap()
                .kernels
        })
        .filter(|report| !matches!(report.state, State::NotRunnable { .. }))
        .collect()
}

#[test]
fn a_wrong_tail_a_wrong_scale_and_a_dropped_part_fail_every_tuned_kernel_by_name() {
    case!("cpu", [Long, Avx2], || {
        let scratch = Scratch::new("mutants");
        let tree = scratch.folder("tree");
        let target = scratch.folder("target");
        tree::copy(&tree);
        let mut survivors = Vec::new();
        for (number, mutant) in MUTANTS.iter().enumerate() {
            let mut before = Vec::new();
            for (file, from, to) in mutant.edits {
                let path = tree.join("providers/cpu/src").join(file);
                let text = std::fs::read_to_string(&path).unwrap();
                assert_eq!(text.matches(from).count(), 1, "{file} holds `{from}` once");
                std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
                before.push((path, text));
            }
            let built = build(&tree, &target);
            let library = scratch
                .folder(&format!("mutant{number}"))
                .join("libovert_cpu.so");
            std::fs::copy(built, &library).unwrap();
            let reports = verify(&library);
            assert!(
                reports.len() > 10,
                "{}: {} kernels",
                mutant.what,
                reports.len()
            );
            for report in reports {
                let spared = mutant
                    .spared
                    .iter()
                    .any(|(part, _)| report.kernel.contains(part));
                if (report.state == State::Failed) == spared {
                    survivors.push(format!(
                        "{}: {} is {:?} after {} geometries",
                        mutant.what, report.kernel, report.state, report.executed
                    ));
                }
            }
            for (path, text) in before {
                std::fs::write(path, text).unwrap();
            }
        }
        assert!(survivors.is_empty(), "{}", survivors.join("\n"));
    });
}

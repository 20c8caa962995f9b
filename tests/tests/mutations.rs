//! The proof that the tests of tuned kernels can fail: on a copy of the sources each of three faults is put into each tuned kernel of
//! the CPU provider, and the tests must turn red and name what ran instead. Long, since the provider is built for each.

use overt_tests::capability::Capability;
use overt_tests::case;
use overt_tests::hostile::Scratch;
use overt_tests::tree;
use std::path::Path;
use std::process::{Command, Output};

/// One fault: where, what is replaced by what, and what the tests' output must then hold.
struct Fault {
    what: &'static str,
    edits: Vec<(String, String, String)>,
    says: Vec<String>,
    /// The build's own check of declarations must say this.
    build_says: Option<String>,
}

fn edit(file: &str, from: &str, to: &str) -> (String, String, String) {
    (file.into(), from.into(), to.into())
}

/// The faults of one kernel. `instead` ranks next where the kernel is gone.
fn faults(op: &str, name: &str, instead: &str) -> Vec<Fault> {
    let (folder, id) = (
        format!("providers/cpu/src/{op}"),
        format!("cpu/{op}/{name}"),
    );
    let file = format!("{folder}/{name}.rs");
    let instead = format!("cpu/{op}/{instead} ran instead of {id}");
    vec![
        Fault {
            what: "a guard that nothing satisfies",
            edits: vec![edit(
                &file,
                "needs: tuned::needs(),",
                "needs: tuned::needs(),\n    needs: [fact(\"device.cores\").below(0)],",
            )],
            says: vec![instead.clone()],
            build_says: None,
        },
        Fault {
            what: "a registration that was dropped",
            edits: vec![edit(
                &format!("{folder}/mod.rs"),
                &format!("mod {name};\n"),
                "",
            )],
            says: vec![instead, format!("{id} is missing")],
            build_says: Some(format!("`{id}` is declared in")),
        },
        Fault {
            what: "a launch that enqueues the reference body",
            edits: vec![
                edit(
                    &file,
                    "tuned::launch(launch, &BODY)",
                    "{\n        let _ = &BODY;\n        tuned::launch(launch, &super::reference::BODY)\n    }",
                ),
                edit(
                    &format!("{folder}/reference.rs"),
                    "static BODY: Body",
                    "pub static BODY: Body",
                ),
            ],
            says: vec![
                format!("guard lie: {id} on cpu:0 was selected"),
                format!("cpu_{op}_reference"),
                format!("that is a symbol of cpu/{op}/reference"),
            ],
            build_says: None,
        },
    ]
}

fn cargo(tree: &Path, target: &Path, arguments: &[&str]) -> (Output, String) {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(arguments)
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", target)
        .env_remove(overt::load::PROVIDER_PATH_VARIABLE)
        .env_remove("OVERT_LEDGER_DIR")
        .env_remove("OVERT_TEST_LONG")
        .output()
        .unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (output, text)
}

const TESTS: [&str; 6] = [
    "test",
    "--package",
    "overt-tests",
    "--no-fail-fast",
    "--test",
    "tuned_kernels_run",
];

#[test]
fn every_fault_in_a_tuned_kernel_turns_tests_red_by_naming_what_ran() {
    case!("cpu", [Long, Avx2], || {
        let scratch = Scratch::new("mutations");
        let (tree, target) = (scratch.folder("tree"), scratch.folder("target"));
        tree::copy(&tree);
        let (sound, text) = cargo(&tree, &target, &TESTS);
        assert!(
            sound.status.success(),
            "without a fault they are green:\n{text}"
        );
        let mut all = Vec::new();
        for op in ["matmul_bt", "paged_attention"] {
            all.extend(faults(op, "avx2", "reference"));
            if Capability::Avx512.probe().is_ok() {
                all.extend(faults(op, "avx512", "avx2"));
            }
        }
        for fault in all {
            let mut before = Vec::new();
            for (file, from, to) in &fault.edits {
                let path = tree.join(file);
                let text = std::fs::read_to_string(&path).unwrap();
                assert_eq!(
                    text.matches(from.as_str()).count(),
                    1,
                    "{file} holds `{from}` once"
                );
                std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
                before.push((path, text));
            }
            let place = &fault.edits[0].0;
            let (output, text) = cargo(&tree, &target, &TESTS);
            assert!(
                !output.status.success(),
                "{} in {place}: the tests stayed green\n{text}",
                fault.what
            );
            for part in &fault.says {
                assert!(
                    text.contains(part),
                    "{} in {place}: `{part}` is missing from\n{text}",
                    fault.what
                );
            }
            if let Some(part) = &fault.build_says {
                let (output, text) = cargo(
                    &tree,
                    &target,
                    &[
                        "run",
                        "--package",
                        "xtask",
                        "--",
                        "build-providers",
                        "--profile",
                        "dev",
                    ],
                );
                assert!(
                    !output.status.success() && text.contains(part),
                    "{} in {place}: `{part}` is missing from\n{text}",
                    fault.what
                );
            }
            for (path, text) in before {
                std::fs::write(path, text).unwrap();
            }
        }
    });
}

//! Scenario 2 and promise 3: a run that executed nothing fails with a code of its own and says `executed 0 of N` with the reasons.

use overt_tests::built;
use overt_tests::case;
use overt_tests::hostile::Scratch;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[path = "../../xtask/src/ledger.rs"]
mod ledger;
use ledger::{Floors, Ledger};

/// The exit code of a run in which nothing was executed.
const NOTHING: Option<i32> = Some(3);

/// The `overt` program with the CPU provider alone.
fn overt(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(built::program())
        .args(arguments)
        .env(overt::load::PROVIDER_PATH_VARIABLE, folder)
        .current_dir("/")
        .output()
        .unwrap()
}

/// A folder with the CPU provider and its manifest.
fn providers(scratch: &Scratch) -> PathBuf {
    let folder = scratch.folder("providers");
    overt_tests::manifest::beside(built::cpu(), &folder, |_| {});
    folder
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn without_a_device_a_workload_executes_nothing_and_says_so() {
    case!("cpu", [], || {
        let scratch = Scratch::new("no-device");
        let workload = scratch.path().join("two.toml");
        std::fs::write(&workload, "[[call]]\nop = \"add.1\"\noperands = { a = \"f32[2,8]\", b = \"f32[2,8]\", out = \"f32[2,8]\" }\n").unwrap();
        let output = overt(
            &scratch.folder("none"),
            &["run", workload.to_str().unwrap()],
        );
        let text = text(&output);
        assert_eq!(output.status.code(), NOTHING, "{text}");
        assert!(
            text.contains("executed 0 of 1") && text.contains("no device"),
            "{text}"
        );
        // The same workload where there is one.
        let output = overt(&providers(&scratch), &["run", workload.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    });
}

#[test]
fn verifying_kernels_that_cannot_run_here_executes_nothing_and_says_why() {
    case!("cpu", [], || {
        let scratch = Scratch::new("verify");
        let folder = providers(&scratch);
        let output = overt(
            &folder,
            &[
                "verify",
                "--knob",
                "cpu.features=none",
                "--kernel",
                "cpu/matmul_bt/avx2",
            ],
        );
        let said = text(&output);
        assert_eq!(output.status.code(), NOTHING, "{said}");
        assert!(
            said.contains("executed 0 of ") && said.contains("avx2"),
            "{said}"
        );
        let output = overt(&scratch.folder("none"), &["verify"]);
        assert_eq!(output.status.code(), NOTHING, "{}", text(&output));
    });
}

/// A ledger with these files.
fn read(files: &[(&str, &str)]) -> Ledger {
    let scratch = Scratch::new("ledger");
    for (name, lines) in files {
        std::fs::write(scratch.path().join(format!("{name}.jsonl")), lines).unwrap();
    }
    Ledger::read(scratch.path()).unwrap()
}

fn skipped(case: usize, need: &str) -> String {
    format!(
        "{{\"capability\": \"{need}\", \"present\": false}}\n{{\"case\": \"case {case}\", \"needs\": [\"{need}\"], \"provider\": \"cpu\", \"outcome\": \"skipped\", \"reason\": \"{need}: not here\"}}\n"
    )
}

#[test]
fn twelve_cases_that_were_all_skipped_are_zero_of_twelve_with_the_reasons() {
    case!("ledger", [], || {
        let lines: String = (0..12)
            .map(|i| skipped(i, if i < 8 { "gcc" } else { "avx512" }))
            .collect();
        let ledger = read(&[("file", &lines)]);
        assert_eq!((ledger.executed(), ledger.is_empty()), (0, false));
        let summary = ledger.summary();
        for part in [
            "executed 0 of 12, skipped 12",
            "skipped 8: gcc: not here",
            "skipped 4: avx512: not here",
        ] {
            assert!(summary.contains(part), "{summary}");
        }
    });
}

#[test]
fn one_of_five_declared_test_files_without_a_result_is_a_complaint() {
    case!("ledger", [], || {
        let floors = Scratch::new("floors");
        let path = floors.path().join("floors.toml");
        std::fs::write(
            &path,
            "files = [\"a\", \"b\", \"c\", \"d\", \"e\"]\n[providers]\ncpu = 5\n",
        )
        .unwrap();
        let floors = Floors::read(&path).unwrap();
        let done = |file: &str| {
            format!(
                "{{\"case\": \"{file}/one\", \"needs\": [], \"provider\": \"cpu\", \"outcome\": \"executed\"}}\n"
            )
        };
        let files: Vec<(&str, String)> = ["a", "b", "d", "e"]
            .into_iter()
            .map(|f| (f, done(f)))
            .collect();
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(f, lines)| (*f, lines.as_str()))
            .collect();
        assert_eq!(
            read(&files).complaints(Some(&floors)),
            [
                "test file `c` left no case in the ledger",
                "provider `cpu`: 4 cases executed, the floor is 5"
            ]
        );
    });
}

#[test]
fn a_skip_that_no_probe_excuses_and_a_case_without_result_are_complaints() {
    case!("ledger", [], || {
        let lines = "{\"case\": \"lazy\", \"needs\": [\"gcc\"], \"outcome\": \"skipped\", \"reason\": \"felt like it\"}\n{\"case\": \"lost\", \"needs\": [], \"outcome\": \"declared\"}\n";
        let complaints = read(&[("file", lines)]).complaints(None);
        assert_eq!(complaints.len(), 2, "{complaints:?}");
    });
}

#[test]
fn what_this_harness_writes_is_what_the_ledger_reads() {
    case!("ledger", [], || {
        let scratch = Scratch::new("round");
        let output = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "twelve_cases_that_were_all_skipped_are_zero_of_twelve_with_the_reasons",
            ])
            .env("OVERT_LEDGER_DIR", scratch.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let ledger = Ledger::read(scratch.path()).unwrap();
        assert_eq!(ledger.summary(), "executed 1 of 1, skipped 0");
        assert_eq!(ledger.complaints(None), Vec::<String>::new());
    });
}

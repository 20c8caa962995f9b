//! `run`: workloads, dispatched and checked.

use crate::support::{bare, overt, shipped};
use std::path::PathBuf;

struct File {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl File {
    fn new(text: &str) -> File {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.toml");
        std::fs::write(&path, text).unwrap();
        File {
            _folder: folder,
            path,
        }
    }

    fn name(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

const TWO: &str = r#"doc = "two calls"

[[call]]
op = "add"
tag = "residual"
repeat = 3
operands.a = "f32[4,6]"
operands.b = "f16[4,6]"
operands.out = { tensor = "f32[4,6]", padding = 2 }

[[call]]
op = "matmul_bt"
operands.a = "f32[5,64]"
operands.b = "bf16[8,64]"
operands.out = "f32[5,8]"
"#;

#[test]
fn every_call_is_dispatched_witnessed_and_checked() {
    let file = File::new(TWO);
    overt(&["run", file.name(), "--no-rates"]).code(0).says(&[
        "two calls",
        "cpu/add/",
        "executed 4 of 4 calls (2 lines), skipped 0, failed 0",
    ]);
    let json = overt(&["run", file.name(), "--json"]).code(0).json();
    let (add, matmul) = (&json["calls"][0], &json["calls"][1]);
    assert_eq!((&add["executed"], &add["checked"]), (&3.into(), &1.into()));
    assert_eq!(
        (&add["result"], &add["evidence"]),
        (&"passed".into(), &"hardware".into())
    );
    assert_eq!(
        (&add["compared"], &add["elements"]),
        (&24.into(), &24.into())
    );
    assert!(add["worst"].as_f64().unwrap() <= 1.0);
    assert!(matmul["launches"].as_u64().unwrap() >= 1);
    assert_eq!(json["summary"]["executed"], 4);
    // Rates come with the kernels that gave them, and a share only where there are such.
    let (memory, f32) = (&json["rates"]["memory"], &json["rates"]["f32"]);
    let known = memory["per_second"].as_f64().is_some() && f32["per_second"].as_f64().is_some();
    assert_eq!(matmul["share"].as_f64().is_some(), known);
    for rate in [memory, f32] {
        let (found, why) = (rate["kernel"].as_str(), rate["why"].as_str());
        assert!(found.is_some() != why.is_some(), "{rate}");
        assert!(found.is_none_or(|k| k.contains("_probe/") && !k.ends_with("reference")));
    }
    assert!(add["gigabytes_per_second"].as_f64().unwrap() > 0.0);
    assert!(matmul["gigaflops_per_second"].as_f64().unwrap() > 0.0);
    let json = overt(&["run", file.name(), "--json", "--check-all", "--no-rates"])
        .code(0)
        .json();
    assert_eq!(json["calls"][0]["checked"], 3);
    assert_eq!(json["summary"]["checked"], 4);
}

#[test]
fn pins_and_strict_policy_hold_and_refusals_have_their_own_code() {
    let file = File::new(TWO);
    let json = overt(&[
        "run",
        "--no-rates",
        file.name(),
        "--json",
        "--pin",
        "matmul_bt=cpu/matmul_bt/reference",
    ])
    .code(0)
    .json();
    assert_eq!(json["calls"][1]["kernel"], "cpu/matmul_bt/reference");
    let run = overt(&[
        "run",
        file.name(),
        "--no-rates",
        "--knob",
        "cpu.features=none",
        "--deny",
        "cpu/add/reference",
    ])
    .code(4)
    .says(&[
        "REFUSED",
        "line 3",
        "no kernel serves this call",
        "executed 1 of 4",
    ]);
    assert!(run.out.contains("skipped 3"), "{}", run.out);
}

#[test]
fn nothing_to_do_and_no_device_end_with_their_own_code() {
    let file = File::new(
        "[[call]]\nop = \"add\"\noperands.a = \"f32[0,3]\"\noperands.b = \"f32[0,3]\"\noperands.out = \"f32[0,3]\"\n",
    );
    overt(&["run", file.name(), "--no-rates"])
        .code(3)
        .says(&["executed 0 of 1"]);
    bare(&["--no-search", "run", file.name()])
        .code(3)
        .says(&["executed 0 of 1", "no device"]);
}

#[test]
fn malformed_workloads_name_file_line_and_what_is_wrong() {
    for (text, line, words) in [
        ("doc = \"x\"\n", 1, vec!["lists no call"]),
        ("[[call]]\nop = \"ad\"\n", 2, vec!["no op `ad`", "add.1"]),
        (
            "[[call]]\nop = \"add\"\nrepeat = 0\n",
            3,
            vec!["at least 1"],
        ),
        ("[[call]]\nop = \"add\"\nwhat = 0\n", 3, vec!["what"]),
        (
            "[[call]]\nop = \"add\"\noperands.q = \"f32[1,1]\"\n",
            3,
            vec!["no operand `q`"],
        ),
        (
            "[[call]]\nop = \"add\"\noperands.a = \"f32[1\"\n",
            3,
            vec!["operand `a`"],
        ),
        ("[[call]\n", 1, vec![]),
    ] {
        let file = File::new(text);
        let place = format!("{}:{line}: ", file.name());
        overt(&["run", file.name(), "--no-rates"])
            .code(2)
            .says(&[place.as_str()])
            .says(&words);
    }
    overt(&["run", "/no/such.toml"])
        .code(2)
        .says(&["/no/such.toml"]);
}

#[test]
fn the_shipped_workloads_all_bind() {
    // The large ones are not run here: that every call fits its schema shows without memory for a model. They have no device to
    // run on, so the program stops behind binding, with the code for that.
    let folder = shipped("smollm2-135m-decode");
    let names: Vec<PathBuf> = std::fs::read_dir(folder.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    for model in [
        "smollm2",
        "qwen3-8b",
        "gemma3",
        "gpt-oss",
        "qwen3-30b-a3b",
        "deepseek",
    ] {
        for step in ["prefill.toml", "decode.toml"] {
            let is = |p: &PathBuf| {
                let name = p.file_name().unwrap().to_str().unwrap();
                name.starts_with(model) && name.ends_with(step)
            };
            assert!(names.iter().any(is), "{model} {step}");
        }
    }
    for path in names {
        bare(&["--no-search", "run", path.to_str().unwrap()])
            .code(3)
            .says(&["executed 0 of", "no device"]);
    }
}

#[test]
fn one_decode_step_of_a_small_model_runs_and_is_right() {
    let path = shipped("smollm2-135m-decode");
    let json = overt(&["run", path.to_str().unwrap(), "--json", "--no-rates"])
        .code(0)
        .json();
    assert_eq!(json["summary"]["calls"], 16 * 30 + 4);
    assert_eq!(json["summary"]["executed"], 16 * 30 + 4);
    assert_eq!(json["summary"]["failed"], 0);
    assert_eq!(json["summary"]["checked"], 20);
}

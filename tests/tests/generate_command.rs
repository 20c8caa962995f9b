//! `overt generate` as a program: what it prints, how it ends, and what it makes of models, prompts and options that cannot be.

use overt_tests::built;
use overt_tests::model::Llama;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

fn model() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = Llama::default().write(folder.path());
    (folder, path)
}

fn command(model: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(built::program());
    command
        .args(["--no-search", "--providers"])
        .arg(built::cpu())
        .arg("generate")
        .arg(model)
        .args(arguments)
        .env_remove("OVERT_PROVIDER_PATH")
        .stdin(Stdio::null());
    command
}

fn run(model: &Path, arguments: &[&str]) -> Output {
    command(model, arguments).output().unwrap()
}

#[track_caller]
fn ended(output: &Output, code: i32) -> String {
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{words}");
    words
}

fn json(model: &Path, arguments: &[&str]) -> Value {
    let output = run(model, &[arguments, &["--json"]].concat());
    ended(&output, 0);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_text_is_printed_and_the_evidence_holds_what_the_shape_asks_for() {
    let (_folder, model) = model();
    let asked = ["hello", "-n", "7", "--ignore-end", "--explain"];
    let told = json(&model, &asked);
    assert_eq!(told["architecture"], "llama");
    assert_eq!(told["devices"][0]["layers"], 4);
    let text = &told["texts"][0];
    assert_eq!(text["prompt_tokens"], 5);
    assert_eq!(text["tokens"].as_array().unwrap().len(), 7);
    assert_eq!(text["finish"], "length");
    assert_eq!(told["steps"]["passes"], 7);
    let evidence = told["evidence"].as_array().unwrap();
    let share: f64 = evidence
        .iter()
        .map(|op| op["share"].as_f64().unwrap())
        .sum();
    assert!((share - 1.0).abs() < 1e-6, "{share}");
    for op in evidence {
        let kernels = op["kernels"].as_array().unwrap().iter();
        let completed: u64 = kernels.map(|k| k["completed"].as_u64().unwrap()).sum();
        assert_eq!(op["expected"], completed, "{op}");
    }
    let attention = |op: &&Value| op["op"] == "paged_attention.1";
    // Four layers, seven passes.
    assert_eq!(evidence.iter().find(attention).unwrap()["expected"], 28);
    // For people the very same text.
    let output = run(&model, &asked);
    let words = ended(&output, 0);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.starts_with(text["text"].as_str().unwrap()));
    assert!(printed.contains("paged_attention.1"), "{printed}");
    assert!(words.contains("tokens/s"), "{words}");
}

#[test]
fn prompts_run_together_and_the_same_seed_gives_the_same_text() {
    let (folder, model) = model();
    let file = folder.path().join("prompt");
    std::fs::write(&file, "from a file").unwrap();
    let file = file.to_str().unwrap();
    let asked = [
        "one",
        "two",
        "--file",
        file,
        "-n",
        "9",
        "--temperature",
        "1.5",
        "--top-k",
        "40",
        "--seed",
        "7",
    ];
    let [first, again] = [json(&model, &asked), json(&model, &asked)];
    assert_eq!(first["texts"].as_array().unwrap().len(), 3);
    let tokens = |told: &Value| -> Vec<Value> {
        let texts = told["texts"].as_array().unwrap();
        texts.iter().map(|text| text["tokens"].clone()).collect()
    };
    assert_eq!(tokens(&first), tokens(&again));
    let other = json(&model, &[&asked[..asked.len() - 1], &["8"]].concat());
    assert_ne!(tokens(&first), tokens(&other));
    let output = run(&model, &asked);
    ended(&output, 0);
    let printed = String::from_utf8(output.stdout).unwrap();
    for mark in ["--- 1\n", "--- 2\n", "--- 3\n"] {
        assert!(printed.contains(mark), "{printed}");
    }
}

#[test]
fn layers_are_split_over_devices_and_the_tokens_are_the_same() {
    let (_folder, model) = model();
    let alone = json(&model, &["split me", "-n", "8", "--ignore-end"]);
    let split = [
        "split me",
        "-n",
        "8",
        "--ignore-end",
        "--knob",
        "cpu.devices=2",
        "--device",
        "cpu:0=1",
        "--device",
        "cpu:1",
    ];
    let told = json(&model, &split);
    assert_eq!(told["devices"][0]["layers"], 1);
    assert_eq!(told["devices"][1]["device"], "cpu:1");
    assert_eq!(told["devices"][1]["layers"], 3);
    assert_eq!(told["texts"][0]["tokens"], alone["texts"][0]["tokens"]);
}

#[test]
fn a_refused_fallback_ends_before_the_first_token_and_says_why() {
    let (_folder, model) = model();
    let mut asked = vec!["hello", "--policy", "strict"];
    for kernel in ["cpu/paged_attention/avx2", "cpu/paged_attention/avx512"] {
        asked.extend(["--deny", kernel]);
    }
    let output = run(&model, &asked);
    if output.status.success() {
        let told = json(&model, &["hello", "--explain"]).to_string();
        assert!(told.contains("cpu/paged_attention/reference"), "{told}");
        println!("skipped: no tuned kernel is for this machine");
        return;
    }
    let words = ended(&output, 4);
    assert!(words.contains("denied by policy"), "{words}");
    assert!(words.contains("cpu/paged_attention/reference"), "{words}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let (folder, model) = model();
    let bytes = std::fs::read(&model).unwrap();
    let broken = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let cut = broken("cut.gguf", &bytes[..bytes.len() / 2]);
    let empty = broken("empty.gguf", b"");
    let other = broken("other.gguf", b"this is no model, but text of some length");
    for (model, arguments, wanted) in [
        (&cut, &["x"][..], "cut.gguf"),
        (&empty, &["x"], "empty.gguf"),
        (&other, &["x"], "other.gguf"),
        (&folder.path().join("none.gguf"), &["x"], "none.gguf"),
        (&model, &[], "there is no prompt"),
        (&model, &[""], "0 token"),
        (
            &model,
            &["x", "--file", "/no/such/prompt"],
            "/no/such/prompt",
        ),
        (&model, &["x", "--device", "gpu:9"], "gpu:9"),
        (&model, &["x", "--device", "cpu:0=9"], "9 layers"),
        (&model, &["x", "--kv", "q9"], "q9"),
        (&model, &["x", "--context", "1"], "context"),
        (&model, &["x", "--page", "0"], "page"),
        (&model, &["x", "--temperature=-1"], "temperature"),
        (&model, &["x", "--temperature", "nan"], "temperature"),
        (&model, &["x", "--top-k=-3"], "top_k"),
        (&model, &["x", "--top-p", "2"], "top_p"),
        (&model, &["x", "--min-p", "1.5"], "min_p"),
    ] {
        let output = run(model, arguments);
        let words = ended(&output, 2);
        assert!(words.contains(wanted), "{arguments:?}: {words}");
        assert!(!words.contains("panicked"), "{words}");
    }
}

/// Runs a command until its first output, and interrupts it.
fn interrupted(command: &mut Command) -> (Child, Vec<u8>) {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0];
    let out = child.stdout.as_mut().unwrap();
    out.read_exact(&mut first).unwrap();
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    (child, first.to_vec())
}

#[test]
fn an_interrupt_ends_the_text_where_it_is_and_tells_what_it_took() {
    let folder = tempfile::tempdir().unwrap();
    let model = Llama {
        context: 1 << 20,
        ..Llama::default()
    }
    .write(folder.path());
    let (mut child, mut printed) = interrupted(&mut command(
        &model,
        &["hello", "-n", "1000000", "--ignore-end", "--sequences", "1"],
    ));
    child
        .stdout
        .take()
        .unwrap()
        .read_to_end(&mut printed)
        .unwrap();
    let words: Vec<String> = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap)
        .collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{words:?}");
    assert!(
        words.iter().any(|line| line.contains("tokens/s")),
        "{words:?}"
    );
    assert!(printed.ends_with(b"\n"));
}

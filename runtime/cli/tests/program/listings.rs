//! `doctor`, `devices`, `ops`, `kernels`: text and JSON, with the real CPU provider.

use crate::support::{bare, overt, provider};
use std::process::{Command, Stdio};

#[test]
fn doctor_shows_every_path_and_what_came_of_it() {
    let text = overt(&["doctor"]).code(0);
    text.says(&[
        "libovert_cpu",
        "loaded without manifest",
        "provider `cpu`",
        "CPU features",
        "glibc",
    ]);
    let json = overt(&["doctor", "--json"]).code(0).json();
    assert_eq!(json["providers"][0]["name"], "cpu");
    assert_eq!(json["providers"][0]["devices"], 1);
    assert_eq!(json["tried"][0]["outcome"], "loaded");
    assert_eq!(json["tried"][0]["asked_for"], true);
    assert_eq!(json["error"], serde_json::Value::Null);
    assert!(
        !json["machine"]["cpu_features"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn doctor_still_tells_when_a_provider_that_was_asked_for_does_not_load() {
    let args = [
        "--no-search",
        "--providers",
        "/no/such/libovert_x.so",
        "doctor",
    ];
    bare(&args)
        .code(5)
        .says(&["/no/such/libovert_x.so", "no such file", "does not start"]);
    let json = bare(&[&args[..], &["--json"]].concat()).code(5).json();
    assert_eq!(json["tried"][0]["outcome"], "refused");
    assert!(
        json["error"]
            .as_str()
            .unwrap()
            .contains("/no/such/libovert_x.so")
    );
}

#[test]
fn a_file_that_is_no_library_is_refused_with_the_loaders_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libovert_text.so");
    std::fs::write(&path, "this is no library").unwrap();
    bare(&[
        "--no-search",
        "--providers",
        path.to_str().unwrap(),
        "devices",
    ])
    .code(5)
    .says(&["libovert_text.so"]);
}

#[test]
fn devices_are_described() {
    overt(&["devices"])
        .code(0)
        .says(&["cpu:0", "hardware", "device.feature"]);
    let json = overt(&["devices", "--json"]).code(0).json();
    let device = &json["devices"][0];
    assert_eq!(
        (&device["device"], &device["kind"]),
        (&"cpu:0".into(), &"hardware".into())
    );
    assert_eq!(device["host_addressable"], true);
    assert!(device["memory_bytes"].as_u64().unwrap() > 0);
    bare(&["--no-search", "devices"])
        .code(0)
        .says(&["no devices"]);
}

#[test]
fn ops_show_their_schema_and_whether_they_can_be_verified() {
    overt(&["ops"]).code(0).says(&[
        "paged_attention.1(",
        "where gqa_ratio = Hq / Hkv exact",
        "verified over",
    ]);
    let json = overt(&["ops", "rms_norm", "--json"]).code(0).json();
    let ops = json["ops"].as_array().unwrap();
    assert_eq!(ops.len(), 1);
    assert_eq!(ops[0]["op"], "rms_norm.1");
    assert_eq!(ops[0]["verifiable"], true);
    overt(&["ops", "rmsnorm"])
        .code(2)
        .says(&["no op `rmsnorm`", "rms_norm.1"]);
}

#[test]
fn kernels_show_tier_images_and_numeric_class() {
    let json = overt(&["kernels", "--json"]).code(0).json();
    let kernels = json["kernels"].as_array().unwrap();
    let find = |id: &str| kernels.iter().find(|k| k["kernel"] == id).expect(id);
    let tuned = find("cpu/matmul_bt/avx2");
    assert_eq!(
        (&tuned["tier"], &tuned["op"]),
        (&"tuned".into(), &"matmul_bt.1".into())
    );
    assert_eq!(tuned["numeric_class"], "cpu.matmul_bt.avx2");
    assert_eq!(find("cpu/add/reference")["state"], "ready");
    let text = overt(&["kernels"]).code(0);
    for kernel in kernels {
        let id = kernel["kernel"].as_str().unwrap();
        assert!(text.out.contains(id), "{id} is cut:\n{}", text.out);
    }
    overt(&["kernels", "paged_attentoin"])
        .code(2)
        .says(&["paged_attention.1"]);
}

#[test]
fn a_reader_that_goes_away_ends_the_output_and_not_with_a_panic() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_overt"))
        .args(["--no-search", "--providers"])
        .arg(provider())
        .arg("kernels")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Closed before the program can have written.
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(!err.contains("panic"), "{err}");
}

#[test]
fn usage_policy_and_knob_errors_name_what_is_near() {
    let help = bare(&["--help"]).code(0);
    help.says(&["Exit codes", "3  nothing was executed"]);
    bare(&["kernals"]).code(2).says(&["kernels"]);
    overt(&["--deny", "cpu/matmul_bt/avx3", "kernels"])
        .code(2)
        .says(&["cpu/matmul_bt/avx3", "cpu/matmul_bt/avx2"]);
    overt(&["--pin", "matmul_bt=cpu/matmul_bt/avx3", "kernels"])
        .code(2)
        .says(&["cpu/matmul_bt/avx2"]);
    overt(&["--pin", "matmul=cpu/matmul_bt/avx2", "kernels"])
        .code(2)
        .says(&["matmul_bt.1"]);
    overt(&["--knob", "cpu.thread=2", "devices"])
        .code(2)
        .says(&["cpu.thread", "cpu.threads"]);
    overt(&["--knob", "cpu.threads=many", "devices"])
        .code(2)
        .says(&["cpu.threads", "an integer"]);
    let json = overt(&["--json", "--deny", "nonsense", "kernels"])
        .code(2)
        .json();
    assert_eq!(json["error"]["exit"], 2);
    assert_eq!(json["error"]["kind"], "usage");
}

//! `verify`: kernels pinned, witnessed and compared.

use crate::support::{bare, overt};

#[test]
fn a_kernel_is_verified_over_its_ops_geometries() {
    let json = overt(&["verify", "--kernel", "cpu/rms_norm/reference", "--json"])
        .code(0)
        .json();
    let kernels = json["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 1);
    let kernel = &kernels[0];
    assert_eq!(
        (&kernel["state"]["state"], &kernel["device"]),
        (&"passed".into(), &"cpu:0".into())
    );
    let executed = kernel["executed"].as_u64().unwrap();
    let empty = kernel["empty"].as_u64().unwrap();
    assert!(executed > 20 && empty > 0);
    assert_eq!(kernel["geometries"].as_u64().unwrap(), executed + empty);
    assert!(kernel["compared"].as_u64().unwrap() > 0);
    assert!(kernel["batch_invariant"]["compared"].as_u64().unwrap() > 0);
    assert_eq!(kernel["batch_invariant"]["differed"], 0);
    assert_eq!(
        kernel["deterministic"]["compared"].as_u64().unwrap(),
        executed
    );
    assert_eq!(json["summary"]["executed"].as_u64().unwrap(), executed);
}

#[test]
fn what_cannot_run_here_is_listed_with_its_reason_and_is_no_pass() {
    let kernel = "cpu/matmul_bt/avx512";
    let run = overt(&["verify", "--kernel", kernel, "--json"]);
    let json = run.json();
    let state = &json["kernels"][0]["state"];
    #[cfg(target_arch = "x86_64")]
    let here = std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512dq")
        && std::arch::is_x86_feature_detected!("avx512vl");
    #[cfg(not(target_arch = "x86_64"))]
    let here = false;
    if here {
        assert_eq!(state["state"], "passed");
        run.code(0);
    } else {
        assert_eq!(state["state"], "not_runnable");
        assert!(!state["reason"].as_str().unwrap().is_empty());
        assert_eq!(json["summary"]["executed"], 0);
        // Nothing was executed, which is no success.
        run.code(3);
    }
}

#[test]
fn masked_features_and_denials_exclude_kernels_and_say_so() {
    overt(&[
        "verify",
        "--kernel",
        "cpu/add/reference",
        "--deny",
        "cpu/add/reference",
    ])
    .code(3)
    .says(&["not runnable", "denied by policy", "executed 0 of 0"]);
}

#[test]
fn filters_that_name_nothing_are_usage_errors_with_near_names() {
    overt(&["verify", "--kernel", "cpu/add/refrence"])
        .code(2)
        .says(&["no kernel `cpu/add/refrence`", "cpu/add/reference"]);
    overt(&["verify", "--op", "ad"])
        .code(2)
        .says(&["no op `ad`"]);
    overt(&["verify", "--device", "gpu"])
        .code(2)
        .says(&["no device `gpu`", "cpu:0"]);
    overt(&["verify", "--op", "add", "--geometry", "t99999"])
        .code(2)
        .says(&["no geometry `t99999`"]);
}

#[test]
fn one_geometry_and_no_device() {
    let json = overt(&[
        "verify",
        "--op",
        "paged_attention",
        "--geometry",
        "softcap50",
        "--json",
    ])
    .code(0)
    .json();
    assert!(json["summary"]["executed"].as_u64().unwrap() > 0);
    bare(&["--no-search", "verify"])
        .code(3)
        .says(&["executed 0 of 0"]);
}

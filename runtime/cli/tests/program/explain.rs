//! `explain`: every candidate with every failing clause.

use crate::support::{bare, overt};

/// A head width of no tile, with a softcap.
const HEAD_112: [&str; 11] = [
    "explain",
    "paged_attention",
    "query=bf16[12,14,112]",
    "k_cache=bf16[8,480,2,112]",
    "v_cache=bf16[8,480,2,112]",
    "block_table=i32[3,2]",
    "seq_lens=i32[3]",
    "query_start=i32[4]",
    "out=bf16[12,14,112]",
    "scale=0.1",
    "softcap=50",
];

#[test]
fn head_112_with_softcap_50_names_every_kernel_and_each_failing_clause() {
    // With the tuned kernel for this machine denied, all but the reference kernel are rejected, each for its reasons.
    let mut args = vec!["--json", "--deny", "cpu/paged_attention/avx2"];
    args.extend(HEAD_112);
    let json = overt(&args).code(0).json();
    let selection = &json["selections"][0];
    assert_eq!(selection["op"], "paged_attention.1");
    let kernels = overt(&["kernels", "paged_attention", "--json"])
        .code(0)
        .json();
    let rejected = selection["rejected"].as_array().unwrap();
    let chosen = selection["chosen"]["kernel"].as_str().unwrap();
    for kernel in kernels["kernels"].as_array().unwrap() {
        let id = kernel["kernel"].as_str().unwrap();
        assert!(
            id == chosen || rejected.iter().any(|r| r["kernel"] == id),
            "{id} is neither chosen nor rejected"
        );
    }
    let denied = rejected
        .iter()
        .find(|r| r["kernel"] == "cpu/paged_attention/avx2")
        .unwrap();
    let reasons = denied["reasons"].as_array().unwrap();
    assert!(
        reasons.iter().any(|r| r["cause"] == "policy"
            && r["text"]
                .as_str()
                .unwrap()
                .contains("deny cpu/paged_attention/avx2")),
        "{reasons:?}"
    );
}

#[test]
fn clauses_that_fail_together_are_all_named() {
    // A padded last dimension, and 2-byte alignment, on a kernel that wants neither.
    let run = overt(&[
        "explain",
        "matmul_bt",
        "a=f32[4,64]:[128,2]",
        "b=f32[8,64]:[128,2]",
        "out=f32[4,8]",
        "--json",
    ])
    .code(0);
    let json = run.json();
    let selection = &json["selections"][0];
    assert_eq!(selection["chosen"]["kernel"], "cpu/matmul_bt/reference");
    let tuned = selection["rejected"]
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["kernel"] == "cpu/matmul_bt/avx2")
        .unwrap();
    let texts: Vec<&str> = tuned["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["text"].as_str().unwrap())
        .collect();
    for operand in ["a.inner_contiguous", "b.inner_contiguous"] {
        assert!(
            texts.iter().any(|t| t.starts_with(operand)),
            "{operand} is not among {texts:?}"
        );
    }
}

#[test]
fn a_fallback_says_so_and_strict_policy_refuses_it() {
    let args = [
        "explain",
        "matmul_bt",
        "a=f32[4,64]:[128,2]",
        "b=f32[8,64]",
        "out=f32[4,8]",
    ];
    let has_tuned =
        !overt(&[&args[..], &["--json"]].concat()).json()["selections"][0]["fallback"].is_null();
    if !cfg!(target_arch = "x86_64") {
        assert!(!has_tuned, "no tuned kernel declares this architecture");
        return;
    }
    assert!(
        has_tuned == std::arch::is_x86_feature_detected!("avx2"),
        "a fallback exactly where the machine has the better kernel's features"
    );
    if has_tuned {
        overt(&args)
            .code(0)
            .says(&["FALLBACK (problem)", "inner_contiguous", "would run with"]);
        overt(&[&["--policy", "strict"], &args[..]].concat())
            .code(4)
            .says(&["FALLBACK", "the policy refuses"]);
    }
}

#[test]
fn pins_and_denials_decide_and_an_impossible_pin_is_refused() {
    let args = [
        "--knob",
        "cpu.features=none",
        "explain",
        "add",
        "a=f32[2,3]",
        "b=f32[2,3]",
        "out=f32[2,3]",
    ];
    overt(&args).code(0).says(&["cpu/add/reference"]);
    overt(&[&["--deny", "cpu/add/reference"], &args[..]].concat())
        .code(4)
        .says(&["no kernel", "denied by policy"]);
    let args = [
        "explain",
        "matmul_bt",
        "a=f32[4,64]",
        "b=f32[8,64]",
        "out=f32[4,8]",
    ];
    let pin = ["--pin", "matmul_bt=cpu/matmul_bt/reference"];
    overt(&[&pin, &args[..]].concat())
        .code(0)
        .says(&["->  cpu/matmul_bt/reference", "policy pins"]);
}

#[test]
fn wrong_arguments_are_usage_errors_that_name_them() {
    for (args, words) in [
        (vec!["explain", "atention"], vec!["no op `atention`"]),
        (
            vec!["explain", "add", "a=f32[2,3]"],
            vec!["operand `b` is missing"],
        ),
        (
            vec!["explain", "add", "c=f32[2,3]"],
            vec!["no operand or attribute `c`"],
        ),
        (
            vec!["explain", "add", "a=f33[2,3]"],
            vec!["operand `a`", "no element type `f33`"],
        ),
        (
            vec!["explain", "add", "a=f32[2,3]", "b=f32[2,4]", "out=f32[2,3]"],
            vec!["operand `b`", "is 4"],
        ),
        (
            vec!["explain", "silu_and_mul", "x=f32[1,7]", "out=f32[1,3]"],
            vec!["D2 / 2"],
        ),
        (
            vec!["explain", "add", "a=f32[1]", "--device", "gpu:0"],
            vec!["no device `gpu:0`", "cpu:0"],
        ),
    ] {
        overt(&args).code(2).says(&words);
    }
    bare(&[
        "--no-search",
        "explain",
        "add",
        "a=f32[2,3]",
        "b=f32[2,3]",
        "out=f32[2,3]",
    ])
    .code(3)
    .says(&["no device"]);
}

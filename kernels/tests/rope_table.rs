//! Frequencies of rotary embeddings against a table made by an independent implementation, `rope_table.py`.

use overt_kernels::ops::rope::{Scaling, amplitude, inv_freq};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"))
}

fn scaling_of(value: &Value) -> Scaling {
    let number = |name: &str| value[name].as_f64().unwrap();
    match value["kind"].as_str().unwrap() {
        "none" => Scaling::None,
        "linear" => Scaling::Linear {
            factor: number("factor"),
        },
        "llama3" => Scaling::Llama3 {
            factor: number("factor"),
            low_freq_factor: number("low_freq_factor"),
            high_freq_factor: number("high_freq_factor"),
            original_context: number("original_context"),
        },
        "yarn" => Scaling::Yarn {
            factor: number("factor"),
            original_context: number("original_context"),
            beta_fast: number("beta_fast"),
            beta_slow: number("beta_slow"),
            truncate: value["truncate"].as_bool().unwrap(),
            mscale: value["mscale"]
                .as_array()
                .map(|m| (m[0].as_f64().unwrap(), m[1].as_f64().unwrap())),
        },
        other => panic!("{other}"),
    }
}

#[test]
fn frequencies_agree_with_an_independent_implementation() {
    let text = std::fs::read_to_string(folder().join("rope_table.json")).unwrap();
    let table: Vec<Value> = serde_json::from_str(&text).unwrap();
    let mut compared = 0;
    for case in &table {
        let (name, scaling) = (&case["name"], scaling_of(&case["scaling"]));
        let rotary = case["rotary"].as_u64().unwrap() as usize;
        let got = inv_freq(case["base"].as_f64().unwrap(), rotary, &scaling).unwrap();
        let wanted = case["inv_freq"].as_array().unwrap();
        assert_eq!(got.len(), wanted.len(), "{name}");
        for (pair, (got, wanted)) in got.iter().zip(wanted).enumerate() {
            let wanted = wanted.as_f64().unwrap();
            // One rounding to f32, and the arithmetic in f64 before it.
            let off = (f64::from(*got) / wanted - 1.0).abs();
            assert!(
                off <= 2f64.powi(-24) + 1e-13,
                "{name}: pair {pair} is {got:e}, wanted {wanted:e}"
            );
            compared += 1;
        }
        let wanted = case["amplitude"].as_f64().unwrap();
        let got = amplitude(&scaling).unwrap();
        assert!((got / wanted - 1.0).abs() <= 1e-14, "{name}: {got}");
    }
    assert!(table.len() >= 12 && compared >= 400, "{compared}");
}

#[test]
fn parameters_that_give_no_frequencies_are_named() {
    let yarn = |factor, beta_fast, mscale| Scaling::Yarn {
        factor,
        original_context: 4096.0,
        beta_fast,
        beta_slow: 1.0,
        truncate: true,
        mscale,
    };
    let llama = |high_freq_factor| Scaling::Llama3 {
        factor: 8.0,
        low_freq_factor: 1.0,
        high_freq_factor,
        original_context: 8192.0,
    };
    for (base, rotary, scaling, what) in [
        (1e4, 7, Scaling::None, "rotary"),
        (1.0, 8, Scaling::None, "base"),
        (f64::NAN, 8, Scaling::None, "base"),
        (1e4, 8, Scaling::Linear { factor: 0.0 }, "factor"),
        (1e4, 8, llama(1.0), "high_freq_factor"),
        (1e4, 8, yarn(f64::INFINITY, 32.0, None), "factor"),
        (1e4, 8, yarn(4.0, 0.5, None), "beta_fast"),
        (1e4, 8, yarn(4.0, 32.0, Some((1.0, -1.0))), "mscale_all_dim"),
    ] {
        let error = inv_freq(base, rotary, &scaling).unwrap_err();
        assert_eq!(error.what, what, "{error}");
        assert!(error.to_string().contains("wanted"), "{error}");
    }
    assert!(amplitude(&yarn(-1.0, 32.0, None)).is_err());
}

#[test]
fn the_script_makes_the_table_that_is_checked_in() {
    let made = Command::new("python3")
        .arg(folder().join("rope_table.py"))
        .arg("--stdout")
        .output();
    match made {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            eprintln!(
                "SKIPPED the_script_makes_the_table_that_is_checked_in: python3 was not found"
            );
        }
        Err(e) => panic!("python3: {e}"),
        Ok(made) => {
            assert!(
                made.status.success(),
                "{}",
                String::from_utf8_lossy(&made.stderr)
            );
            let kept = std::fs::read(folder().join("rope_table.json")).unwrap();
            assert!(
                made.stdout == kept,
                "rope_table.json is not what rope_table.py makes: run the script"
            );
        }
    }
}

//! Oracles against a table made by an independent implementation, `oracle_table.py`, whose head says how inputs are made.

use overt_kernels::dtype::F32;
use overt_kernels::host::HostCall;
use overt_kernels::op::{Geometry, Want};
use overt_kernels::ops;
use overt_kernels::schema::{AttrType, AttrValue, Dtypes};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests"))
}

fn table() -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join("oracle_table.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The generator that the table's script states.
struct Lcg(u64);

impl Lcg {
    fn next(&mut self, shift: i64) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let integer = ((self.0 >> 33) % 511) as i64 - 255;
        integer as f64 / 128.0 * 2f64.powi(shift as i32)
    }
}

fn call_of(case: &Value) -> HostCall {
    let op = ops::find(case["op"].as_str().unwrap()).unwrap();
    let schema = Arc::new(op.parse().unwrap());
    let mut geometry = Geometry::named(case["name"].as_str().unwrap());
    for (name, value) in case["symbols"].as_object().unwrap() {
        geometry = geometry.symbols(&[(name, value.as_i64().unwrap())]);
    }
    for (name, value) in case["attrs"].as_object().unwrap() {
        let value = match schema.attrs[schema.attr(name).unwrap()].ty {
            AttrType::Bool => AttrValue::Bool(value.as_bool().unwrap()),
            AttrType::I64 => AttrValue::I64(value.as_i64().unwrap()),
            AttrType::F64 => AttrValue::F64(value.as_f64().unwrap()),
            AttrType::Str => AttrValue::Str(value.as_str().unwrap().to_owned()),
        };
        geometry = geometry.attr(name, value);
    }
    for name in case["present"].as_array().unwrap() {
        geometry = geometry.with(name.as_str().unwrap());
    }
    for operand in &schema.operands {
        if matches!(&operand.dtypes, Dtypes::Of { dtypes, .. } if dtypes.len() > 1) {
            geometry = geometry.dtypes(&[(&operand.name, F32)]);
        }
    }
    let mut call = HostCall::from_geometry(&schema, &geometry).unwrap();
    let seed = case["seed"].as_u64().unwrap();
    for (number, operand) in schema.operands.iter().enumerate() {
        let Some(tensor) = call.operands[number].as_mut() else {
            continue;
        };
        if let Some(values) = case["ints"].get(&operand.name) {
            for (flat, value) in values.as_array().unwrap().iter().enumerate() {
                let index = tensor.index_of(flat as u64).unwrap();
                tensor.set_i64(&index, value.as_i64().unwrap()).unwrap();
            }
        } else if let Some(values) = case["floats"].get(&operand.name) {
            for (flat, value) in values.as_array().unwrap().iter().enumerate() {
                let index = tensor.index_of(flat as u64).unwrap();
                tensor.set_f64(&index, value.as_f64().unwrap()).unwrap();
            }
        } else if schema.outputs().contains(&number) && number >= schema.input_count {
            // Outputs stay NaN.
        } else {
            let shift = case["shifts"]
                .get(&operand.name)
                .and_then(Value::as_i64)
                .unwrap_or(0);
            let mut numbers = Lcg(seed * 1_000_003 + number as u64);
            tensor.fill_with(|| numbers.next(shift)).unwrap();
        }
    }
    (op.check_contents)(&call).unwrap_or_else(|e| panic!("{}: {e}", case["name"]));
    call
}

/// The greatest difference between the oracle and the table, as a share of the value or of the output's root mean square,
/// whichever is greater, and how many numbers were compared.
fn difference(call: &HostCall, case: &Value) -> (f64, usize) {
    let op = ops::find(&call.schema.name).unwrap();
    let (mut worst, mut count) = (0f64, 0);
    for (name, wanted) in case["outputs"].as_object().unwrap() {
        let wanted: Vec<f64> = wanted
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .collect();
        let output = call.schema.operand(name).unwrap();
        let got = (op.oracle)(call, output, &Want::All);
        assert_eq!(got.len(), wanted.len(), "{} {name}", case["name"]);
        let rms = (wanted.iter().map(|v| v * v).sum::<f64>() / wanted.len().max(1) as f64).sqrt();
        for (got, wanted) in got.iter().zip(&wanted) {
            assert!(got.is_finite(), "{} {name}", case["name"]);
            if got != wanted {
                worst = worst.max((got - wanted).abs() / wanted.abs().max(rms));
            }
            count += 1;
        }
    }
    (worst, count)
}

#[test]
fn oracles_agree_with_an_independent_implementation() {
    let mut compared = std::collections::BTreeMap::new();
    for case in table() {
        let (worst, count) = difference(&call_of(&case), &case);
        assert!(
            worst <= 1e-12,
            "{} {}: off by {worst:e}",
            case["op"],
            case["name"]
        );
        *compared
            .entry(case["op"].as_str().unwrap().to_owned())
            .or_insert(0) += count;
    }
    // What a probe computes is beside the point; its tests are its kernels'.
    let probes = ops::ALL.iter().filter(|op| op.name.contains("_probe"));
    assert_eq!(
        compared.len(),
        ops::ALL.len() - probes.count(),
        "every op is in the table: {compared:?}"
    );
    assert!(compared.values().all(|&n| n >= 15), "{compared:?}");
    assert!(compared["paged_attention.1"] >= 500, "{compared:?}");
}

/// Were the table blind to one of these, an oracle that is wrong there would pass.
#[test]
fn the_table_tells_wrong_attributes_from_right_ones() {
    let mut changed = std::collections::BTreeMap::new();
    for case in table() {
        let right = call_of(&case);
        let mut differs = |what: &'static str, change: &dyn Fn(&mut HostCall)| {
            let mut wrong = right.clone();
            change(&mut wrong);
            let (worst, _) = difference(&wrong, &case);
            assert!(
                worst > 1e-6,
                "{}: {what} changes only {worst:e}",
                case["name"]
            );
            *changed.entry(what).or_insert(0) += 1;
        };
        let attr = |name: &str| right.attr(name).cloned();
        let set = |name: &'static str, value: AttrValue| {
            move |call: &mut HostCall| {
                let number = call.schema.attr(name).unwrap();
                call.attrs[number] = value.clone();
            }
        };
        if let Some(AttrValue::F64(scale)) = attr("scale")
            && attr("window") != Some(AttrValue::I64(1))
        {
            differs("scale", &set("scale", AttrValue::F64(scale * 1.001)));
        }
        if let Some(AttrValue::F64(cap)) = attr("softcap")
            && cap > 0.0
        {
            differs("softcap", &set("softcap", AttrValue::F64(0.0)));
            // Capped before it is scaled instead of after: the same as another cap.
            let Some(AttrValue::F64(scale)) = attr("scale") else {
                panic!()
            };
            differs(
                "softcap before scale",
                &set("softcap", AttrValue::F64(cap * scale.abs())),
            );
        }
        if let Some(AttrValue::I64(window)) = attr("window")
            && window > 0
        {
            differs(
                "window too wide",
                &set("window", AttrValue::I64(window + 1)),
            );
            if window > 1 {
                differs(
                    "window too narrow",
                    &set("window", AttrValue::I64(window - 1)),
                );
            }
        }
        if attr("causal") == Some(AttrValue::Bool(false)) {
            differs("causal", &set("causal", AttrValue::Bool(true)));
        }
        if let Some(AttrValue::F64(eps)) = attr("eps") {
            differs("eps", &set("eps", AttrValue::F64(eps + 1e-3)));
        }
        for (name, step) in [
            ("weight_offset", 0.125),
            ("amplitude", 0.125),
            ("limit", 0.25),
            ("alpha", 0.01),
            ("k_scale", 0.125),
            ("v_scale", 0.125),
        ] {
            // A single key has all the weight, whatever its logit.
            let single = name == "k_scale" && attr("window") == Some(AttrValue::I64(1));
            if let Some(AttrValue::F64(value)) = attr(name)
                && !single
            {
                differs(name, &set(name, AttrValue::F64(value + step)));
            }
        }
        for name in [
            "interleaved",
            "erf",
            "int8_activations",
            "sigmoid",
            "renormalise",
        ] {
            if let Some(AttrValue::Bool(value)) = attr(name)
                && case["name"] != "no_depth"
            {
                differs(name, &set(name, AttrValue::Bool(!value)));
            }
        }
        // One value for all rows, which changes the token of some.
        if case["op"] == "sample.1" {
            for (name, value, of) in [
                ("temperature", 3.0, "temperature"),
                ("top_k", 1.0, "top_k"),
                ("top_p", 0.0, "top_p"),
                ("min_p", 1.0, "min_p"),
                ("seed", 12_345.0, "plain"),
                ("draw", 999.0, "plain"),
            ] {
                if case["name"] == of {
                    let number = right.schema.operand(name).unwrap();
                    differs(name, &|call: &mut HostCall| {
                        let operand = call.operands[number].as_mut().unwrap();
                        operand.fill_with(|| value).unwrap();
                    });
                }
            }
        }
        // Ties of logits that are nearly equal are broken otherwise by other groups.
        if case["name"] == "groups" {
            differs("top_groups", &set("top_groups", AttrValue::I64(3)));
            differs("group_score", &set("group_score", AttrValue::I64(4)));
        }
        for name in ["sinks", "bias", "b_scale", "shared"] {
            if right.operand(name).is_some() {
                let number = right.schema.operand(name).unwrap();
                differs(name, &|call: &mut HostCall| call.operands[number] = None);
            }
        }
    }
    assert_eq!(changed.len(), 30, "{changed:?}");
}

#[test]
fn the_script_makes_the_table_that_is_checked_in() {
    let made = Command::new("python3")
        .arg(folder().join("oracle_table.py"))
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
            let kept = std::fs::read(folder().join("oracle_table.json")).unwrap();
            assert!(
                made.stdout == kept,
                "oracle_table.json is not what oracle_table.py makes: run the script"
            );
        }
    }
}

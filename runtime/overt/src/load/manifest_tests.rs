use super::*;

fn sample() -> Manifest {
    Manifest {
        schema: MANIFEST_SCHEMA,
        required: Vec::new(),
        provider: "demo".into(),
        version: "1.2.3".into(),
        sha256: "ab".repeat(32),
        abi: "0.1".into(),
        target: "x86_64-unknown-linux-gnu".into(),
        min_glibc: Some("2.34".into()),
        cpu_features: vec!["sse2".into()],
        panic_mode: PanicMode::Unwind,
        sanitizer: String::new(),
        revision: "abc".into(),
        compiler: "c".into(),
        profile: "dev".into(),
        ops: vec![ManifestOp {
            name: "add.1".into(),
            digest: "0".repeat(16),
        }],
        kernels: vec![ManifestKernel {
            id: "demo/add/x".into(),
            op: "add.1".into(),
            tier: Tier::Tuned,
            priority: -3,
            image_patterns: Vec::new(),
            arch_clauses: Vec::new(),
            not_built: Some("no compiler".into()),
            numeric_class: None,
        }],
        images: Vec::new(),
    }
}

fn parse(text: &str) -> Result<Manifest, ManifestError> {
    Manifest::parse(Path::new("/p/libx.so.overt.json"), text)
}

#[test]
fn a_manifest_survives_writing_and_reading() {
    assert_eq!(parse(&sample().to_text()).unwrap(), sample());
}

#[test]
fn unknown_fields_are_ignored_and_unknown_requirements_refuse() {
    let text = sample()
        .to_text()
        .replacen('{', "{\n  \"later\": {\"a\": 1},", 1);
    assert_eq!(parse(&text).unwrap(), sample());
    let text = sample()
        .to_text()
        .replacen('{', "{\n  \"required\": [\"signature\"],", 1);
    let error = parse(&text).unwrap_err();
    assert!(
        matches!(&error, ManifestError::Required { name, .. } if name == "signature"),
        "{error}"
    );
}

#[test]
fn a_malformed_manifest_names_file_line_and_field() {
    let text = sample()
        .to_text()
        .replace("\"priority\": -3", "\"priority\": \"high\"");
    let error = parse(&text).unwrap_err();
    let ManifestError::Malformed { line, field, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(field, "priority");
    assert_eq!(
        text.lines().nth(line - 1).map(str::trim),
        Some("\"priority\": \"high\",")
    );
    assert!(
        error.to_string().contains("/p/libx.so.overt.json"),
        "{error}"
    );

    let text = sample().to_text().replace("\"sha256\"", "\"sha255\"");
    let error = parse(&text).unwrap_err().to_string();
    assert!(error.contains("missing field `sha256`"), "{error}");

    let error = parse("{ \"schema\": 1,\n nonsense").unwrap_err();
    assert!(
        matches!(error, ManifestError::Malformed { line: 2, .. }),
        "{error:?}"
    );
    assert!(matches!(parse(""), Err(ManifestError::Malformed { .. })));
    assert!(matches!(parse("[]"), Err(ManifestError::Malformed { .. })));
}

#[test]
fn values_out_of_form_are_named() {
    for (from, to, field) in [
        ("abab", "ABab", "sha256"),
        ("\"abi\": \"0.1\"", "\"abi\": \"one\"", "abi"),
        (
            "\"provider\": \"demo\"",
            "\"provider\": \"../demo\"",
            "provider",
        ),
        (
            "\"min_glibc\": \"2.34\"",
            "\"min_glibc\": \"new\"",
            "min_glibc",
        ),
        ("\"digest\": \"00", "\"digest\": \"zz", "ops[0].digest"),
    ] {
        let text = sample().to_text().replacen(from, to, 1);
        let error = parse(&text).unwrap_err();
        assert!(
            matches!(&error, ManifestError::Value { field: found, .. } if found == field),
            "{error}"
        );
    }
}

#[test]
fn another_schema_is_refused_before_its_fields_are_read() {
    let error = parse("{\"schema\": 2, \"kernels\": 5}").unwrap_err();
    assert!(
        matches!(
            error,
            ManifestError::Schema {
                found: 2,
                known: 1,
                ..
            }
        ),
        "{error}"
    );
}

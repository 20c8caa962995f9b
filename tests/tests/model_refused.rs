//! Models that cannot run, by files that differ from a good one in one place: each ends with an error of its kind that names the place.

use overt::Runtime;
use overt_engine::gguf::{GgmlType, GgufProblem, Place, WriteValue};
use overt_engine::{Engine, EngineError, Options};
use overt_tests::parts::Parts;
use overt_tests::start;

struct Bench {
    runtime: Runtime,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench {
            runtime: start::cpu().start().unwrap(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn load(&self, parts: &Parts) -> Result<Engine, EngineError> {
        let options = Options {
            context: 32,
            sequences: 1,
            chunk: 8,
            ..Options::default()
        };
        Engine::load(&self.runtime, &parts.write(self.folder.path()), &options)
    }

    #[track_caller]
    fn refused(&self, parts: &Parts, what: &str) -> EngineError {
        match self.load(parts) {
            Ok(_) => panic!("{what}: it was loaded"),
            Err(error) => error,
        }
    }
}

const MODELS: [&str; 5] = [
    "llama-mixed",
    "llama-untied-k",
    "qwen2-untied",
    "qwen3-tied",
    "gemma3-window",
];

#[test]
fn a_missing_tensor_is_named() {
    let bench = Bench::new();
    let mut seen = 0;
    for model in MODELS {
        let parts = Parts::of(model);
        bench.load(&parts).unwrap();
        for name in parts.tensors.keys() {
            // Without a head the table is it: that is a tied model.
            if name == "output.weight" {
                bench.load(&parts.lacking(name)).unwrap();
                continue;
            }
            let error = bench.refused(&parts.lacking(name), name);
            let EngineError::File(file) = &error else {
                panic!("{model}, {name}: {error:?}")
            };
            assert_eq!(file.place, Place::Tensor(name.clone()), "{model}");
            let missing = matches!(*file.problem, GgufProblem::MissingTensor { .. });
            assert!(missing, "{model}, {name}: {error}");
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn a_tensor_that_no_layer_takes_is_named() {
    let bench = Bench::new();
    let llama = Parts::of("llama-mixed");
    let f32 = GgmlType::F32;
    for (name, shape) in [
        // Those of other architectures, which would be computed otherwise.
        ("blk.0.attn_q_norm.weight", &[16][..]),
        ("blk.1.post_attention_norm.weight", &[64]),
        ("blk.0.attn_norm.bias", &[64]),
        ("blk.0.attn_sinks.weight", &[4]),
        ("output.bias", &[128]),
        // A layer more than the metadata have.
        ("blk.2.attn_norm.weight", &[64]),
        ("blk.00.attn_norm.weight", &[64]),
        ("something", &[3, 2]),
    ] {
        let error = bench.refused(&llama.tensor(name, f32, shape), name);
        assert!(
            matches!(&error, EngineError::Unsupported { what, .. } if what.contains(name)),
            "{name}: {error:?}"
        );
    }
    let error = bench.refused(&llama.with("llama.block_count", 1_u32), "layers");
    assert!(error.to_string().contains("blk.1."), "{error}");
    // A bias that the architecture does not have and that a product can add is added.
    bench
        .load(&llama.tensor("blk.0.attn_output.bias", f32, &[64]))
        .unwrap();
}

#[test]
fn a_tensor_of_another_shape_is_named_with_both() {
    let bench = Bench::new();
    let mut seen = 0;
    for model in MODELS {
        let parts = Parts::of(model);
        for (name, (kind, shape, _)) in &parts.tensors {
            let mut shapes = vec![[&[1], &shape[..]].concat()];
            let mut less = shape.clone();
            less[0] -= 1;
            // The table says how many tokens there are.
            if name != "token_embd.weight" {
                shapes.push(less);
            }
            let mut more = shape.clone();
            *more.last_mut().unwrap() += kind.block_elements();
            shapes.push(more);
            for other in shapes {
                let what = format!("{model}, {name} of {other:?}");
                let error = bench.refused(&parts.tensor(name, *kind, &other), &what);
                let EngineError::Shape {
                    tensor,
                    got,
                    wanted,
                } = &error
                else {
                    panic!("{what}: {error:?}")
                };
                assert_eq!(tensor, name, "{what}");
                let numbers: Vec<i64> = other.iter().map(|n| *n as i64).collect();
                assert_eq!(got, &numbers, "{what}");
                assert_ne!(got, wanted, "{what}");
                seen += 1;
            }
        }
    }
    assert!(seen > 300, "{seen}");
}

#[test]
fn a_type_that_no_product_takes_is_refused() {
    let bench = Bench::new();
    let parts = Parts::of("llama-mixed");
    for name in [
        "blk.0.attn_q.weight",
        "token_embd.weight",
        "output_norm.weight",
    ] {
        let shape = parts.tensors[name].1.clone();
        for kind in [GgmlType::I32, GgmlType::I8, GgmlType::F64] {
            let error = bench.refused(&parts.tensor(name, kind, &shape), name);
            println!("{name} of {kind}: {error}");
            let typed = match name {
                "output_norm.weight" => matches!(error, EngineError::Unsupported { .. }),
                _ => matches!(
                    error,
                    EngineError::Call(_) | EngineError::Runtime(overt::Error::Bind(_))
                ),
            };
            assert!(typed, "{name} of {kind}: {error:?}");
        }
    }
    // One that has no dtype here.
    let error = bench.refused(
        &Parts::of("llama-untied-k").tensor("output.weight", GgmlType::Q2_K, &[96, 256]),
        "Q2_K",
    );
    assert!(error.to_string().contains("Q2_K"), "{error}");
}

#[test]
fn metadata_that_no_model_can_have_are_named() {
    let bench = Bench::new();
    let llama = Parts::of("llama-mixed");
    let gemma = Parts::of("gemma3-window");
    let kept = [
        "rope.freq_base",
        "rope.dimension_count",
        "attention.key_length",
    ];
    for key in llama.keys.keys().filter(|key| key.starts_with("llama.")) {
        // Those that have a default.
        let short = &key["llama.".len()..];
        if kept.contains(&short) || ["attention.value_length", "vocab_size"].contains(&short) {
            continue;
        }
        if short == "attention.head_count_kv" {
            let error = bench.refused(&llama.without(key), key);
            assert!(matches!(error, EngineError::Shape { .. }), "{error:?}");
            continue;
        }
        for parts in [llama.without(key), llama.with(key, "many")] {
            let error = bench.refused(&parts, key);
            let EngineError::File(file) = &error else {
                panic!("{key}: {error:?}")
            };
            assert_eq!(file.place, Place::Key(key.clone()), "{error}");
        }
    }
    let mut cases: Vec<(Parts, &str)> = Vec::new();
    for size in [
        "block_count",
        "context_length",
        "embedding_length",
        "feed_forward_length",
        "attention.head_count",
        "attention.head_count_kv",
        "attention.key_length",
        "attention.value_length",
        "rope.dimension_count",
    ] {
        for value in [0, (1 << 24) + 1, u64::MAX] {
            cases.push((llama.with(&format!("llama.{size}"), value), size));
        }
    }
    for (key, value) in [
        ("general.architecture", WriteValue::from("mamba")),
        ("general.architecture", "".into()),
        ("llama.attention.head_count_kv", 3_u32.into()),
        ("llama.rope.dimension_count", 18_u32.into()),
        ("llama.rope.dimension_count", 15_u32.into()),
        ("llama.expert_count", 8_u32.into()),
        ("llama.attn_logit_softcapping", 50_f32.into()),
        ("llama.rope.scaling.type", "longrope".into()),
        ("llama.attention.layer_norm_rms_epsilon", f32::NAN.into()),
        (
            "llama.attention.layer_norm_rms_epsilon",
            f32::INFINITY.into(),
        ),
        ("llama.attention.layer_norm_rms_epsilon", (-1_f32).into()),
        ("llama.rope.freq_base", f32::NAN.into()),
        ("llama.rope.freq_base", 0_f32.into()),
        ("llama.rope.freq_base", f32::INFINITY.into()),
    ] {
        let word = key.trim_start_matches("llama.");
        cases.push((llama.with(key, value), word));
    }
    let mut windowed = gemma.clone();
    windowed
        .keys
        .insert("gemma3.final_logit_softcapping".into(), 30_f32.into());
    cases.push((windowed, "final_logit_softcapping"));
    for (parts, word) in cases {
        let error = bench.refused(&parts, word);
        println!("{word}: {error}");
        let words = error.to_string();
        assert!(!matches!(error, EngineError::Stopped), "{words}");
        // Frequencies are told by their own error, which knows no key.
        let named = words.contains(word) || matches!(error, EngineError::Frequency(_));
        assert!(named, "{word}: {error:?}");
    }
    // More layers than the file holds, and sizes that fit one another and not the file.
    let error = bench.refused(&llama.with("llama.block_count", 1_u32 << 24), "layers");
    assert!(error.to_string().contains("blk.2."), "{error}");
    let error = bench.refused(&llama.with("llama.embedding_length", 1_u32 << 24), "width");
    assert!(matches!(error, EngineError::Shape { .. }), "{error:?}");
    // A window longer than any sequence hides nothing.
    bench
        .load(&gemma.with("gemma3.attention.sliding_window", u64::MAX))
        .unwrap();
}

#[test]
fn a_cache_that_no_memory_holds_is_refused() {
    let bench = Bench::new();
    let path = Parts::of("llama-mixed").write(bench.folder.path());
    let most = 1 << 24;
    for (context, sequences, page) in [
        (most, most, 1),
        (most, 1 << 12, 1),
        (most, 1 << 12, most),
        (1 << 20, 1 << 20, 16),
        (1 << 16, 1 << 15, 1),
    ] {
        let options = Options {
            context,
            sequences,
            page,
            ..Options::default()
        };
        let error = match Engine::load(&bench.runtime, &path, &options) {
            Ok(_) => panic!("{context} x {sequences} was taken"),
            Err(error) => error,
        };
        println!("{context} x {sequences}, pages of {page}: {error}");
        assert!(
            matches!(
                error,
                EngineError::Option { .. } | EngineError::Runtime(_) | EngineError::View(_)
            ),
            "{error:?}"
        );
    }
}

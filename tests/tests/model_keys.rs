//! Keys and types of a file that change what its model computes: each is followed, or the file is refused by that key. None is passed over.

use overt_engine::gguf::{GgmlType, WriteValue};
use overt_engine::{Engine, EngineError, Options, Request, Sampling};
use overt_tests::parts::Parts;
use overt_tests::start;

const PROMPT: std::ops::Range<u32> = 1..20;

fn options() -> Options {
    Options {
        context: 64,
        sequences: 2,
        page: 4,
        int8_activations: false,
        ..Options::default()
    }
}

fn load(parts: &Parts) -> Result<Engine, EngineError> {
    let folder = tempfile::tempdir().unwrap();
    let runtime = start::cpu().start().unwrap();
    Engine::load(&runtime, &parts.write(folder.path()), &options())
}

fn ask(engine: &mut Engine) {
    engine
        .add(Request {
            prompt: PROMPT.collect(),
            tokens: 2,
            sampling: Sampling::default(),
            stop: Vec::new(),
        })
        .unwrap();
}

/// Bits of the logits behind the prompt.
fn logits(parts: &Parts) -> Vec<u32> {
    let mut engine = load(parts).unwrap_or_else(|error| panic!("{error}"));
    ask(&mut engine);
    assert_eq!(engine.step().unwrap().len(), 1);
    let logits = engine.logits().unwrap();
    assert!(logits.iter().all(|x| x.is_finite()));
    logits.into_iter().map(f32::to_bits).collect()
}

#[test]
fn keys_that_are_not_followed_refuse_the_file_by_name() {
    let cases: [(&str, &str, WriteValue); 13] = [
        ("llama-mixed", "llama.attention.causal", false.into()),
        ("llama-mixed", "llama.rope.scale_linear", 2.0_f32.into()),
        (
            "llama-mixed",
            "llama.rope.scaling.attn_factor",
            2.0_f32.into(),
        ),
        (
            "llama-mixed",
            "llama.rope.scaling.yarn_beta_fast",
            16.0_f32.into(),
        ),
        (
            "llama-mixed",
            "llama.rope.scaling.yarn_log_multiplier",
            0.1_f32.into(),
        ),
        ("llama-mixed", "llama.rope.scaling.factor", 0.0_f32.into()),
        (
            "llama-mixed",
            "llama.rope.scaling.factor",
            (-1.0_f32).into(),
        ),
        ("llama-mixed", "llama.rope.scaling.factor", f32::NAN.into()),
        ("llama-mixed", "llama.expert_count", 4_u32.into()),
        (
            "llama-mixed",
            "llama.attention.sliding_window",
            4_u32.into(),
        ),
        (
            "qwen3-tied",
            "qwen3.attention.sliding_window_pattern",
            2_u32.into(),
        ),
        ("qwen3-tied", "qwen3.rope.freq_base_swa", 500.0_f32.into()),
        (
            "gemma3-window",
            "gemma3.attention.sliding_window_pattern",
            0_u32.into(),
        ),
    ];
    for (model, key, value) in cases {
        match load(&Parts::of(model).with(key, value.clone())).err() {
            Some(EngineError::Unsupported { what, .. }) => assert_eq!(what, key),
            other => panic!("{key} = {value:?}: {other:?}"),
        }
    }
    let neutral = Parts::of("llama-mixed")
        .with("llama.attention.causal", true)
        .with("llama.rope.scale_linear", 1.0_f32)
        .with("llama.rope.scaling.yarn_beta_fast", 32.0_f32);
    assert!(logits(&neutral) == logits(&Parts::of("llama-mixed")));
}

#[test]
fn a_factor_without_a_kind_is_linear_scaling() {
    let plain = Parts::of("llama-mixed");
    let factor = plain.with("llama.rope.scaling.factor", 4.0_f32);
    let linear = factor.with("llama.rope.scaling.type", "linear");
    let none = factor.with("llama.rope.scaling.type", "none");
    assert!(logits(&factor) == logits(&linear));
    assert!(logits(&factor) != logits(&plain));
    assert!(logits(&none) == logits(&plain));
}

#[test]
fn yarn_takes_its_original_context_as_files_have_it() {
    let yarn = |context: u32| {
        let parts = Parts::of("qwen3-tied")
            .with("qwen3.rope.scaling.type", "yarn")
            .with("qwen3.rope.scaling.factor", 4.0_f32)
            .with("qwen3.rope.scaling.original_context_length", context);
        logits(&parts)
    };
    assert!(yarn(32) != yarn(4096));
}

#[test]
fn windows_of_gemma_follow_their_keys() {
    let plain = Parts::of("gemma3-window");
    let usual = plain
        .with("gemma3.attention.sliding_window_pattern", 6_u32)
        .with("gemma3.rope.freq_base_swa", 10_000.0_f32);
    assert!(logits(&usual) == logits(&plain));
    let pattern = plain.with("gemma3.attention.sliding_window_pattern", 2_u32);
    assert!(logits(&pattern) != logits(&plain));
    let base = plain.with("gemma3.rope.freq_base_swa", 100.0_f32);
    assert!(logits(&base) != logits(&plain));
}

/// The models' biases with these kinds, of values that each kind holds, and weights of one type, so that only the biases differ.
fn biased(kinds: [GgmlType; 3]) -> Parts {
    let mut parts = Parts::of("qwen2-untied");
    let names: Vec<String> = parts.tensors.keys().cloned().collect();
    for (part, kind) in ["attn_q", "attn_k", "attn_v"].into_iter().zip(kinds) {
        for name in names.iter().filter(|name| name.contains(part)) {
            let shape = parts.tensors[name].1.clone();
            if name.ends_with(".weight") {
                parts = parts.tensor(name, GgmlType::F32, &shape);
                continue;
            }
            let values = (0..shape[0]).map(|i| (i % 7) as f32 / 4.0 - 0.75);
            let bytes = values.flat_map(|x| match kind {
                GgmlType::F32 => x.to_le_bytes().to_vec(),
                GgmlType::BF16 => x.to_le_bytes()[2..].to_vec(),
                _ => half(x).to_le_bytes().to_vec(),
            });
            let bytes = bytes.collect();
            parts.tensors.insert(name.clone(), (kind, shape, bytes));
        }
    }
    parts
}

/// Bits in f16 of a number that f16 holds as a normal one, or zero.
fn half(x: f32) -> u16 {
    if x == 0.0 {
        return 0;
    }
    let bits = x.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32 - 127 + 15;
    ((bits >> 16 & 0x8000) | (exponent as u32) << 10 | (bits >> 13 & 0x3ff)) as u16
}

#[test]
fn biases_of_different_types_give_what_one_type_gives() {
    use GgmlType::{BF16, F16, F32};
    let plain = logits(&biased([F32; 3]));
    for kinds in [
        [F16; 3],
        [F16, BF16, BF16],
        [F16, F32, BF16],
        [F32, F32, F16],
    ] {
        assert!(logits(&biased(kinds)) == plain, "{kinds:?}");
    }
}

#[test]
fn logits_without_a_number_end_the_step_and_name_the_sequence() {
    let mut parts = Parts::of("llama-mixed");
    let (_, _, bytes) = parts.tensors.get_mut("output_norm.weight").unwrap();
    for value in bytes.chunks_exact_mut(4) {
        value.copy_from_slice(&f32::NAN.to_le_bytes());
    }
    let mut engine = load(&parts).unwrap();
    ask(&mut engine);
    match engine.step() {
        Err(EngineError::NoToken { sequence }) => assert!(engine.cancel(sequence)),
        other => panic!("{other:?}"),
    }
    assert!(!engine.is_busy());
}

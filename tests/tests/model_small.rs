//! Small random models, at least one of each architecture, against an evaluation in f64 of the same files: prompts in chunks, then tokens one by one. The
//! files and what they are held against come from `tests/accuracy/small.py`.

use overt::{Error, Policy, Runtime};
use overt_engine::{Engine, EngineError, Options, Request, Sampling};
use overt_tests::start;
use serde::Deserialize;
use std::path::PathBuf;

const MODELS: [&str; 5] = [
    "llama-mixed",
    "llama-untied-k",
    "qwen2-untied",
    "qwen3-tied",
    "gemma3-window",
];

#[derive(Deserialize)]
struct Expected {
    sequences: Vec<Sequence>,
}

#[derive(Clone, Deserialize)]
struct Sequence {
    prompt: Vec<u32>,
    forced: Vec<u32>,
    logits: Vec<Vec<f64>>,
    llama_rms: f64,
    llama_most: f64,
}

fn file(name: &str, kind: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("files/models/{name}.{kind}"))
}

fn expected(name: &str) -> Vec<Sequence> {
    let text = std::fs::read_to_string(file(name, "json")).unwrap();
    let expected: Expected = serde_json::from_str(&text).unwrap();
    assert!(expected.sequences.len() > 1);
    expected.sequences
}

fn engine(runtime: &Runtime, name: &str, exact: bool, sequences: usize) -> Engine {
    let options = Options {
        chunk: 5,
        page: 4,
        sequences,
        int8_activations: !exact,
        ..Options::default()
    };
    Engine::load(runtime, &file(name, "gguf"), &options).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Logits behind each step of each sequence, run together. What is produced is the likeliest.
fn logits(engine: &mut Engine, sequences: &[Sequence]) -> Vec<Vec<Vec<f32>>> {
    let ids: Vec<_> = sequences
        .iter()
        .map(|sequence| {
            let request = Request {
                prompt: sequence.prompt.clone(),
                tokens: sequence.logits.len(),
                sampling: Sampling::default(),
                stop: Vec::new(),
            };
            engine.add(request).unwrap()
        })
        .collect();
    let mut got = vec![Vec::new(); sequences.len()];
    while engine.is_busy() {
        let produced = engine.step().unwrap();
        let all = engine.logits().unwrap();
        for (row, one) in produced.iter().enumerate() {
            let width = all.len() / produced.len();
            let number = ids.iter().position(|id| *id == one.sequence).unwrap();
            let logits = &all[row * width..(row + 1) * width];
            assert_eq!(one.token as usize, best(logits));
            got[number].push(logits.to_vec());
            let step = got[number].len() - 1;
            if let Some(token) = sequences[number].forced.get(step) {
                assert!(engine.choose(one.sequence, *token).unwrap());
            }
        }
    }
    got
}

/// The first of the greatest.
fn best<T: PartialOrd>(logits: &[T]) -> usize {
    let mut best = 0;
    for (token, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = token;
        }
    }
    best
}

/// Holds the likeliest token to that of f64 where the second is further behind than errors of `most` on either can make up for. How
/// many steps were held.
fn hold_choices(what: &str, got: &[Vec<f32>], sequence: &Sequence, most: f64) -> usize {
    let mut held = 0;
    for (got, right) in got.iter().zip(&sequence.logits) {
        let first = best(right);
        let others = right.iter().enumerate().filter(|(n, _)| *n != first);
        let second = others.fold(f64::NEG_INFINITY, |most, (_, x)| most.max(*x));
        if right[first] - second > 2.0 * most {
            assert_eq!(best(got), first, "{what}");
            held += 1;
        }
    }
    held
}

fn rms(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for value in values {
        sum += value * value;
        count += 1;
    }
    (sum / f64::from(count)).sqrt()
}

/// Root mean squares of the error, and of the right logits.
fn error(got: &[Vec<f32>], sequence: &Sequence) -> [f64; 2] {
    assert_eq!(got.len(), sequence.logits.len());
    let right = || sequence.logits.iter().flatten().copied();
    let got = got.iter().flatten().map(|x| f64::from(*x));
    [rms(got.zip(right()).map(|(a, b)| a - b)), rms(right())]
}

fn hold(runtime: &Runtime) {
    let mut held = [0; 2];
    for name in MODELS {
        let sequences = expected(name);
        for exact in [true, false] {
            let what = format!("{name}, exact {exact}");
            let got = logits(&mut engine(runtime, name, exact, 1), &sequences);
            for (got, sequence) in got.iter().zip(&sequences) {
                let [error, size] = error(got, sequence);
                // Keys and values are rounded to f16, one part in 2048 each; with rounded activations llama.cpp's error is the measure, and
                // a tenth more for the few logits that there are.
                let most = if exact {
                    size * 2e-3
                } else {
                    sequence.llama_rms * 1.1
                };
                println!("{what}: {error:.6} of {most:.6}; size {size:.4}");
                assert!(error <= most, "{what}: {error} of {size}");
                // Five times the root mean square is further than a single logit is off.
                let far = if exact {
                    most * 5.0
                } else {
                    sequence.llama_most
                };
                held[usize::from(exact)] += hold_choices(&what, got, sequence, far);
            }
        }
    }
    println!("choices held: {held:?}");
    let all = MODELS.iter().flat_map(|name| expected(name));
    let steps: usize = all.map(|sequence| sequence.logits.len()).sum();
    assert!(
        held[1] > steps * 3 / 4 && held[0] > steps / 3,
        "{held:?} of {steps}"
    );
}

#[test]
fn logits_are_those_of_an_evaluation_in_f64() {
    hold(&start::cpu().start().unwrap());
}

#[test]
fn reference_kernels_give_them_too() {
    hold(&start::cpu().knob("cpu.features", "none").start().unwrap());
}

#[test]
fn sequences_that_run_together_get_what_each_gets_alone() {
    let runtime = start::cpu().start().unwrap();
    for name in MODELS {
        let sequences = expected(name);
        let together = logits(&mut engine(&runtime, name, true, 2), &sequences);
        for (together, sequence) in together.iter().zip(&sequences) {
            let [error, size] = error(together, sequence);
            assert!(error <= size * 2e-3, "{name}: {error} of {size}");
            let alone = std::slice::from_ref(sequence);
            let alone = logits(&mut engine(&runtime, name, true, 1), alone);
            // Other kernels may serve the batch, with sums in another order, which can put a key on the other side of two f16 values.
            let pairs = together
                .iter()
                .flatten()
                .zip(alone.iter().flatten().flatten());
            let apart = rms(pairs.map(|(a, b)| f64::from(a - b)));
            assert!(apart <= size * 5e-4, "{name}: {apart} of {size}");
        }
    }
}

#[test]
fn what_ran_is_what_the_models_shape_asks_for() {
    let runtime = start::cpu().start().unwrap();
    for name in MODELS {
        let mut engine = engine(&runtime, name, false, 2);
        logits(&mut engine, &expected(name));
        let evidence = engine.evidence().unwrap();
        let mut seen = 0;
        for (kind, expected) in &evidence.expected {
            let ran = evidence.ops.iter().filter(|op| op.kind == *kind);
            let completed: u64 = ran.flat_map(|op| &op.kernels).map(|k| k.completed).sum();
            assert_eq!(completed, *expected, "{name}: {kind:?}");
            seen += completed;
        }
        assert!(seen > 100, "{name}: {seen}");
        let steps = engine.steps();
        assert!(steps.replays > 0 && steps.captures > 0, "{steps:?}");
        assert!(steps.captures - steps.crossings <= 2, "{steps:?}");
    }
}

#[test]
fn under_a_strict_policy_without_tuned_attention_nothing_is_produced() {
    let runtime = start::cpu().start().unwrap();
    let mut policy = Policy::strict();
    let kernels = runtime.kernels();
    let tuned: Vec<_> = kernels
        .iter()
        .filter(|k| k.decl.id.starts_with("cpu/paged_attention/"))
        .filter(|k| !k.decl.id.ends_with("/reference"))
        .map(|k| k.decl.id.clone())
        .collect();
    assert!(!tuned.is_empty());
    for kernel in &tuned {
        policy = policy.deny(kernel);
    }
    runtime.set_policy(policy).unwrap();
    let mut engine = engine(&runtime, "llama-mixed", false, 1);
    engine
        .add(Request {
            prompt: vec![1, 2, 3],
            tokens: 4,
            sampling: Sampling::default(),
            stop: Vec::new(),
        })
        .unwrap();
    match engine.step() {
        Err(EngineError::Runtime(Error::FallbackRefused(selection))) => {
            let words = selection.to_string();
            for kernel in &tuned {
                assert!(words.contains(&format!("deny {kernel}")), "{words}");
            }
        }
        Ok(produced) => {
            let device = &runtime.devices()[0];
            let avx2 = device.info().arch.features.iter().any(|f| f.name == "avx2");
            assert!(!avx2, "produced {produced:?}");
            println!("skipped: no tuned kernel is for this machine");
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_pass_is_captured_again_where_another_kernel_serves_and_that_is_counted_and_said() {
    let runtime = start::cpu().start().unwrap();
    let mut engine = engine(&runtime, "qwen3-tied", true, 1);
    engine
        .add(Request {
            prompt: vec![1, 2, 3],
            tokens: 12,
            sampling: Sampling::default(),
            stop: Vec::new(),
        })
        .unwrap();
    let step = |engine: &mut Engine| assert_eq!(engine.step().unwrap().len(), 1);
    (0..5).for_each(|_| step(&mut engine));
    let before = engine.steps();
    assert_eq!((before.captures, before.crossings), (1, 0));
    assert_eq!(before.replays, 4);
    let attention = |engine: &Engine| -> Vec<String> {
        let evidence = engine.evidence().unwrap();
        let ops = evidence.ops.iter();
        ops.filter(|op| op.op == "paged_attention.1")
            .flat_map(|op| op.kernels.iter().map(|k| k.kernel.clone()))
            .collect()
    };
    let [served] = attention(&engine).try_into().unwrap();
    if served == "cpu/paged_attention/reference" {
        println!("skipped: no other kernel is for this machine");
        return;
    }
    runtime.set_policy(Policy::default().deny(&served)).unwrap();
    (0..3).for_each(|_| step(&mut engine));
    let after = engine.steps();
    assert_eq!((after.captures, after.crossings), (2, 1));
    assert_eq!(after.replays, before.replays + 3);
    assert!(engine.last_crossing().is_some());
    assert_eq!(attention(&engine).len(), 2);
}

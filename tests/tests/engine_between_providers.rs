//! A model split between devices of two providers, or of one whose devices have no way between them: the residual goes through the host,
//! and nothing else changes. And what fails on any device but the last is told.
//!
//! The second provider computes each op by its oracle.

use overt::{Error, Policy, Runtime, RuntimeBuilder, dtype};
use overt_engine::{EngineError, Kind, Options, Steps};
use overt_tests::built;
use overt_tests::case;
use overt_tests::observer::Observer;
use overt_tests::split::{Got, counted, engine, load, options, requests, run, run_through};
use overt_tests::start::{self, Fake};
use std::sync::atomic::{AtomicU32, Ordering};

/// Adds the second provider, with two devices. Returns its label too.
fn with_oracle(builder: RuntimeBuilder, misbehave: &str) -> (Runtime, String) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let label = format!("between-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let builder = builder
        .providers(built::oracle())
        .knob("oracle.devices", "sm_86,sm_90")
        .knob("oracle.label", &label)
        .knob("oracle.misbehave", misbehave);
    let runtime = builder.start().unwrap_or_else(|error| panic!("{error}"));
    (runtime, label)
}

fn oracle(misbehave: &str) -> (Runtime, String) {
    with_oracle(Runtime::builder().search(false), misbehave)
}

const BOTH: [(&str, usize); 2] = [("oracle:0", 0), ("oracle:1", 0)];

/// Calls of attention that kernels of a provider completed.
fn attended(engine: &overt_engine::Engine, provider: &str) -> u64 {
    let evidence = engine.evidence().unwrap();
    let attention = evidence.ops.iter().filter(|op| op.kind == Kind::Attention);
    let kernels = attention.flat_map(|op| &op.kernels);
    kernels
        .filter(|k| k.kernel.starts_with(&format!("{provider}/")))
        .map(|k| k.completed)
        .sum()
}

/// Holds two runs together that were computed in different precision: the same tokens, and logits that differ by rounding.
fn near(got: &Got, wanted: &Got, what: &str) {
    assert_eq!(got.len(), wanted.len());
    let mut worst = 0f32;
    for (number, sequence) in wanted {
        let tokens = |run: &Got| run[number].iter().map(|one| one.0).collect::<Vec<_>>();
        assert_eq!(tokens(got), tokens(wanted), "{what}: sequence {number}");
        for (step, ((_, got), (_, want))) in got[number].iter().zip(sequence).enumerate() {
            let values = |bits: &[u32]| bits.iter().map(|b| f32::from_bits(*b)).collect::<Vec<_>>();
            let (got, want) = (values(got), values(want));
            let size = (want.iter().map(|v| v * v).sum::<f32>() / want.len() as f32).sqrt();
            for (g, w) in got.iter().zip(&want) {
                let off = (g - w).abs() / size;
                worst = worst.max(off);
                assert!(
                    off < TOLERANCE,
                    "{what}: sequence {number}, step {step}: {g} for {w}"
                );
            }
        }
    }
    println!("{what}: at most {worst:e} of a row's size apart");
}

/// Greatest distance of a logit, by the root mean square of its row. Kernels sum some tens of f32 products a layer, each sum with a few
/// roundings of 2^-24, in four layers of seven such ops.
const TOLERANCE: f32 = 2e-5;

#[test]
fn a_split_between_two_providers_gives_the_same_tokens() {
    case!("oracle", [], || {
        let cpu = start::cpu()
            .knob("cpu.devices", "2")
            .knob("cpu.threads", "2");
        let (runtime, _) = with_oracle(cpu, "");
        // A cache of f32, since of f16 a sum near the middle of two numbers may go either way.
        let with = |split: &[(&str, usize)]| {
            let options = Options {
                kv: [dtype::F32; 2],
                ..options(split)
            };
            load(&runtime, &options).unwrap_or_else(|error| panic!("{error}"))
        };
        let mut alone = with(&[("cpu:0", 0)]);
        let wanted = run(&mut alone, &requests());
        let counts = counted(&alone);
        let steps = alone.steps();
        let splits: [&[(&str, usize)]; 5] = [
            &[("oracle:0", 0)],
            &[("cpu:0", 0), ("oracle:0", 0)],
            &[("oracle:1", 3), ("cpu:0", 1)],
            &[("cpu:0", 1), ("oracle:0", 2), ("cpu:1", 1)],
            &[("oracle:0", 1), ("oracle:1", 1), ("cpu:1", 1), ("cpu:0", 1)],
        ];
        for split in splits {
            let mut engine = with(split);
            let got = run(&mut engine, &requests());
            near(&got, &wanted, &format!("{split:?}"));
            assert_eq!(counted(&engine), counts, "{split:?}");
            let parts = split.len() as u64;
            let Steps {
                passes, replays, ..
            } = engine.steps();
            assert_eq!((passes, replays), (steps.passes, parts * steps.replays));
            // Each provider ran its own layers, in every pass.
            for provider in ["cpu", "oracle"] {
                let layers: usize = engine
                    .placements()
                    .filter(|(device, _)| device.starts_with(provider))
                    .map(|(_, layers)| layers)
                    .sum();
                assert_eq!(
                    attended(&engine, provider),
                    layers as u64 * passes,
                    "{split:?}"
                );
            }
        }
    });
}

#[test]
fn devices_of_a_provider_without_a_way_between_them_go_through_the_host() {
    case!("oracle", [], || {
        let run_on = |misbehave: &str, split: &[(&str, usize)]| {
            let (runtime, label) = oracle(misbehave);
            let observer = Observer::new(built::oracle(), "oracle", &label);
            let mut engine = engine(&runtime, split);
            let got = run(&mut engine, &requests());
            counted(&engine);
            let asked = observer.count("copy_peer");
            (got, asked)
        };
        let (wanted, none) = run_on("", &BOTH[..1]);
        assert_eq!(none, 0);
        let (direct, asked) = run_on("", &BOTH);
        assert!(asked > 0 && direct == wanted);
        let (staged, asked) = run_on("no_peer", &BOTH);
        assert!(asked > 0 && staged == wanted);
    });
}

#[test]
fn a_failure_on_any_device_is_told_and_its_step_can_be_repeated() {
    case!("oracle", [], || {
        let (runtime, _) = oracle("");
        let wanted = run(&mut engine(&runtime, &BOTH), &requests());
        // Bodies of each device by number, from the first passes, which take prompts in, to decoding, which is replayed.
        for (device, number) in [(0, 0), (0, 7), (0, 55), (0, 300), (1, 3), (1, 310)] {
            let (runtime, label) = oracle(&format!("fail:{device}:{number}"));
            let mut engine = engine(&runtime, &BOTH);
            let mut failures = 0;
            let got = run_through(&mut engine, &requests(), |error| {
                match error {
                    EngineError::Runtime(Error::Async {
                        device: named,
                        words,
                        launches,
                        ..
                    }) => {
                        assert_eq!(named, format!("oracle:{device}"));
                        assert!(words.contains("raised a fault"), "{words}");
                        assert!(!launches.is_empty());
                    }
                    other => panic!("{other}"),
                }
                failures += 1;
            });
            let observer = Observer::new(built::oracle(), "oracle", &label);
            let bodies = observer.count(&format!("bodies of {device}"));
            assert!(bodies > number, "only {bodies} bodies ran");
            assert_eq!(failures, 1, "{device}, {number}");
            assert!(got == wanted, "{device}, {number}");
        }
    });
}

#[test]
fn ops_that_a_device_lacks_are_served_on_the_host_where_the_policy_allows_it_and_shown() {
    case!("fake", [Gcc], || {
        let allowed = Policy::default().host_fallback(true);
        let started = Fake::of("sm_86,sm_90").and_cpu().policy(allowed).start();
        let with = |split: &[(&str, usize)]| {
            let options = Options {
                kv: [dtype::F32; 2],
                ..options(split)
            };
            load(&started.runtime, &options)
        };
        let mut alone = with(&[("cpu:0", 0)]).unwrap();
        let wanted = run(&mut alone, &requests());
        let counts = counted(&alone);
        for split in [
            [("fake:0", 2), ("fake:1", 2)],
            [("fake:1", 1), ("cpu:0", 3)],
        ] {
            let mut engine = with(&split).unwrap();
            let got = run(&mut engine, &requests());
            near(&got, &wanted, &format!("{split:?}"));
            assert_eq!(counted(&engine), counts, "{split:?}");
            // A pass with such calls cannot be captured, and says so.
            let why = engine.last_crossing().unwrap();
            assert!(why.contains("host fallback"), "{why}");
            // No kernel of the fake turns positions, and the evidence says who did, and that it is a fallback.
            let evidence = engine.evidence().unwrap();
            let rope = evidence
                .ops
                .iter()
                .find(|op| op.kind == Kind::Rope)
                .unwrap();
            for used in &rope.kernels {
                assert!(used.kernel.starts_with("cpu/"), "{}", used.kernel);
            }
            let told = rope
                .kernels
                .iter()
                .filter_map(|k| k.fallback.as_ref())
                .next();
            let told = told.expect("a fallback with its selection");
            assert_eq!(told.served_by.as_deref(), Some("cpu:0"));
        }
        // Without leave it is an error, and nothing is served elsewhere in silence.
        started.runtime.set_policy(Policy::default()).unwrap();
        let mut engine = with(&[("fake:0", 0)]).unwrap();
        engine.add(requests().remove(0)).unwrap();
        match engine.step() {
            Err(EngineError::Runtime(Error::NoKernel(_))) => {}
            other => panic!("{other:?}"),
        }
    });
}

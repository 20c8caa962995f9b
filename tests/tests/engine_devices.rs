//! A model split over several devices gives the very tokens and logits that one device gives, however it is split, counts the calls
//! that its shape demands, and says what of a split cannot be.

use overt::{Error, Policy, Runtime};
use overt_engine::gguf::GgufFile;
use overt_engine::{Engine, EngineError, Kind, Options, Request, Steps};
use overt_tests::case;
use overt_tests::hostile::Scratch;
use overt_tests::model::Llama;
use overt_tests::split::{
    Got, counted, engine, load, load_of, options, requests, run, run_through,
};
use overt_tests::start;
use std::collections::{BTreeMap, BTreeSet};

fn devices(count: usize, threads: usize) -> Runtime {
    let builder = start::cpu()
        .knob("cpu.devices", count.to_string())
        .knob("cpu.threads", threads.to_string());
    builder.start().unwrap_or_else(|error| panic!("{error}"))
}

fn refused(runtime: &Runtime, parts: &[(&str, usize)]) -> EngineError {
    match load(runtime, &options(parts)) {
        Ok(_) => panic!("{parts:?} was taken"),
        Err(error) => error,
    }
}

/// Everything that a run on one device gives.
fn alone() -> (Got, Steps, Vec<(Kind, u64)>) {
    let runtime = devices(1, 2);
    let mut engine = engine(&runtime, &[("cpu:0", 0)]);
    let got = run(&mut engine, &requests());
    let counts = counted(&engine);
    (got, engine.steps(), counts)
}

#[test]
fn any_split_gives_the_bits_of_one_device() {
    case!("cpu", [], || {
        let (wanted, steps, counts) = alone();
        assert_eq!(wanted.len(), 6);
        assert!((0..6).all(|n| wanted[&n].len() == 9 + n as usize));
        // No step has the logits of the one before, so that a pass which did nothing would be seen, and draws are not all alike.
        for sequence in wanted.values() {
            assert!(sequence.windows(2).all(|pair| pair[0].1 != pair[1].1));
        }
        let tokens: BTreeSet<u32> = wanted.values().flatten().map(|one| one.0).collect();
        assert!(tokens.len() > 6, "{tokens:?}");
        assert!(steps.captures > 0 && steps.replays > 0 && steps.passes > steps.replays);
        let runtime = devices(3, 3);
        let splits: [&[(&str, usize)]; 8] = [
            &[("cpu:0", 0), ("cpu:1", 0)],
            &[("cpu:0", 1), ("cpu:1", 3)],
            &[("cpu:0", 3), ("cpu:1", 1)],
            &[("cpu:1", 0), ("cpu:0", 0)],
            &[("cpu:0", 0), ("cpu:1", 0), ("cpu:2", 0)],
            &[("cpu:2", 1), ("cpu:0", 2), ("cpu:1", 1)],
            &[("cpu:0", 1), ("cpu:0", 3)],
            &[("cpu:0", 1), ("cpu:1", 1), ("cpu:0", 1), ("cpu:1", 1)],
        ];
        for split in splits {
            let mut engine = engine(&runtime, split);
            let placed: Vec<&str> = engine.placements().map(|(device, _)| device).collect();
            assert_eq!(placed, split.iter().map(|s| s.0).collect::<Vec<_>>());
            assert_eq!(engine.placements().map(|(_, n)| n).sum::<usize>(), 4);
            let got = run(&mut engine, &requests());
            assert!(got == wanted, "{split:?}");
            assert_eq!(counted(&engine), counts, "{split:?}");
            // Every part takes part in every pass, and captures and replays the same ones.
            let parts = split.len() as u64;
            let Steps {
                passes,
                captures,
                crossings,
                replays,
            } = engine.steps();
            assert_eq!(passes, steps.passes);
            assert_eq!(
                (captures, replays, crossings),
                (
                    parts * steps.captures,
                    parts * steps.replays,
                    parts * steps.crossings
                ),
                "{split:?}"
            );
        }
    });
}

#[test]
fn weights_in_blocks_are_packed_on_each_device_and_give_the_bits_of_one() {
    case!("cpu", [], || {
        let model = Llama {
            q8_0: true,
            ..Llama::default()
        };
        let runtime = devices(3, 3);
        for int8_activations in [true, false] {
            let mut memory = Vec::new();
            let mut results = Vec::new();
            let splits: [&[(&str, usize)]; 3] = [
                &[("cpu:0", 0)],
                &[("cpu:1", 1), ("cpu:0", 3)],
                &[("cpu:0", 1), ("cpu:1", 2), ("cpu:2", 1)],
            ];
            for split in splits {
                let options = Options {
                    int8_activations,
                    ..options(split)
                };
                let mut engine = load_of(&model, &runtime, &options).unwrap();
                memory.push(engine.memory());
                results.push((run(&mut engine, &requests()), counted(&engine)));
            }
            assert!(results.iter().all(|one| *one == results[0]));
            // Layers lie on one device each; the table, which the head shares with it on one device, lies on the first and the last.
            let [[weights, cache], [more, same], third] = memory[..] else {
                unreachable!()
            };
            assert!(cache == same && weights < more, "{memory:?}");
            assert_eq!([more, same], third);
        }
    });
}

#[test]
fn neither_threads_nor_splits_change_a_bit_whatever_the_cpu_has() {
    case!("cpu", [], || {
        let without: &[&str] = if cfg!(target_arch = "x86_64") {
            &["all", "avx,avx2,fma,f16c", "none"]
        } else {
            &["all", "none"]
        };
        for features in without {
            let on = |count: usize, threads: usize| {
                let builder = start::cpu()
                    .knob("cpu.features", *features)
                    .knob("cpu.devices", count.to_string())
                    .knob("cpu.threads", threads.to_string());
                let runtime = builder.start().unwrap_or_else(|error| panic!("{error}"));
                let names: Vec<String> = (0..count).map(|n| format!("cpu:{n}")).collect();
                let split: Vec<(&str, usize)> = names.iter().map(|n| (n.as_str(), 0)).collect();
                run(&mut engine(&runtime, &split), &requests())
            };
            let wanted = on(1, 1);
            for (count, threads) in [(1, 2), (1, 7), (2, 2), (2, 5), (3, 1), (4, 8)] {
                let got = on(count, threads);
                assert!(
                    got == wanted,
                    "{features}: {count} devices, {threads} threads"
                );
            }
        }
    });
}

#[test]
fn each_device_ran_its_layers_and_no_others() {
    case!("cpu", [], || {
        let runtime = devices(3, 3);
        let mut engine = engine(&runtime, &[("cpu:2", 1), ("cpu:0", 3)]);
        run(&mut engine, &requests());
        // Calls of attention by device: one for each layer and pass. `evidence` would run the last pass once more.
        let passes = engine.steps().passes;
        drop(engine);
        let mut ran: BTreeMap<String, u64> = BTreeMap::new();
        for count in runtime.counts() {
            if count.kernel.contains("/paged_attention/") {
                *ran.entry(count.device).or_default() += count.counts.completed;
            }
        }
        let wanted = [("cpu:0", 3 * passes), ("cpu:2", passes)];
        assert_eq!(ran, wanted.map(|(d, n)| (d.to_owned(), n)).into());
    });
}

#[test]
fn splits_that_cannot_be_are_refused_with_what_was_wanted() {
    case!("cpu", [], || {
        let runtime = devices(6, 6);
        let all: Vec<String> = (0..6).map(|n| format!("cpu:{n}")).collect();
        let five: Vec<(&str, usize)> = all[..5].iter().map(|d| (d.as_str(), 0)).collect();
        let splits: [&[(&str, usize)]; 5] = [
            // More devices than layers.
            &five,
            &[("cpu:0", 4), ("cpu:1", 0)],
            // More layers than there are, and fewer.
            &[("cpu:0", 3), ("cpu:1", 2)],
            &[("cpu:0", 5)],
            &[("cpu:0", 1), ("cpu:1", 2)],
        ];
        for split in splits {
            match refused(&runtime, split) {
                EngineError::Option {
                    option,
                    got,
                    wanted,
                } => {
                    assert_eq!(option, "placements");
                    assert!(!got.is_empty() && !wanted.is_empty());
                }
                other => panic!("{split:?}: {other}"),
            }
        }
        match refused(&runtime, &[("cpu:0", 0), ("cpu:6", 0)]) {
            EngineError::Runtime(Error::UnknownDevice { name, known, .. }) => {
                assert_eq!((name.as_str(), &known), ("cpu:6", &all));
            }
            other => panic!("{other}"),
        }
        // A device that there is not is found before anything is loaded to those before it.
        let folder = Scratch::new("unknown-device");
        let file = GgufFile::open(Llama::default().write(folder.path())).unwrap();
        let unknown = options(&[("cpu:0", 0), ("gpu:0", 0)]);
        let stopped = Engine::load_file(&runtime, file, &unknown, |_| panic!("it loads"));
        assert!(matches!(
            stopped.err(),
            Some(EngineError::Runtime(Error::UnknownDevice { .. }))
        ));
        // What was refused left nothing behind that would be in the way.
        let mut engine = engine(&runtime, &[("cpu:4", 0), ("cpu:5", 0)]);
        assert_eq!(run(&mut engine, &requests()).len(), 6);
    });
}

#[test]
fn sequences_can_be_given_up_and_others_take_their_place_on_every_device() {
    case!("cpu", [], || {
        let results = [1, 3].map(|count| {
            let runtime = devices(count, 3);
            let names = ["cpu:0", "cpu:1", "cpu:2"];
            let split: Vec<(&str, usize)> = names[..count].iter().map(|d| (*d, 0)).collect();
            let mut engine = engine(&runtime, &split);
            let all = requests();
            let given_up = engine.add(all[3].clone()).unwrap();
            for _ in 0..3 {
                engine.step().unwrap();
            }
            assert!(engine.cancel(given_up));
            let got = run(&mut engine, &all[..3]);
            counted(&engine);
            got
        });
        assert!(results[0] == results[1]);
    });
}

#[test]
fn evidence_in_the_middle_of_a_run_changes_nothing() {
    case!("cpu", [], || {
        let all = requests();
        let results = [false, true].map(|look| {
            let runtime = devices(2, 2);
            let mut engine = engine(&runtime, &[("cpu:0", 0), ("cpu:1", 0)]);
            // A short sequence ends while prompts of the others are still taken in, so that passes without a result follow it and use
            // its pages again.
            let mut got = Vec::new();
            engine
                .add(Request {
                    tokens: 1,
                    ..all[2].clone()
                })
                .unwrap();
            let mut waiting = all[1..].iter();
            while engine.is_busy() {
                for one in engine.step().unwrap() {
                    got.push((one.sequence, one.token));
                }
                if let Some(next) = waiting.next() {
                    engine.add(next.clone()).unwrap();
                }
                if look {
                    counted(&engine);
                }
            }
            counted(&engine);
            got
        });
        assert!(results[0] == results[1]);
    });
}

#[test]
fn a_step_that_the_last_device_refuses_can_be_repeated() {
    case!("cpu", [], || {
        let runtime = devices(2, 2);
        let split = [("cpu:0", 0), ("cpu:1", 0)];
        let wanted = run(&mut engine(&runtime, &split), &requests());
        // Ops that only the last device is asked for, so that the first one has gone through when the refusal comes.
        let kernels = runtime
            .kernels()
            .into_iter()
            .map(|kernel| kernel.decl.id.clone());
        let drawing: Vec<String> = kernels
            .filter(|id| id.contains("/sample/") || id.contains("/greedy_argmax/"))
            .collect();
        let mut engine = engine(&runtime, &split);
        let deny = || {
            let policy = drawing.iter().fold(Policy::default(), |p, id| p.deny(id));
            runtime.set_policy(policy).unwrap();
        };
        deny();
        let (mut refusals, mut left) = (0, 3);
        let got = run_through(&mut engine, &requests(), |error| {
            assert!(
                matches!(error, EngineError::Runtime(Error::NoKernel(_))),
                "{error}"
            );
            refusals += 1;
            left -= 1;
            if left == 0 {
                runtime.set_policy(Policy::default()).unwrap();
            }
        });
        assert_eq!(refusals, 3);
        assert!(got == wanted);
        assert!(engine.steps().replays > 0);
    });
}

//! Scenario 23: a planned or remembered dispatch allocates nothing, reads no environment and no file, and takes no lock of the system's;
//! counts stay exact while another thread registers providers.

use overt::Runtime;
use overt::kernels::dtype::F32;
use overt_tests::hooks::HookCounts;
use overt_tests::hostile::{Hostile, Scratch};
use overt_tests::run::Uploaded;
use overt_tests::start::Fake;
use overt_tests::{built, case, problems};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the probe counted under the hooks, by what it did.
fn probed() -> BTreeMap<String, HookCounts> {
    let output = Command::new(env!("CARGO_BIN_EXE_overt-probe"))
        .arg("hot")
        .args([built::minimal(), built::fake()])
        .env("LD_PRELOAD", built::hooks())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(text.lines().last().unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn dispatch_and_launch_allocate_nothing_and_ask_nobody() {
    case!("fake", [Gcc], || {
        let counts = probed();
        // The hooks see what they should, or the zeros below would mean nothing.
        let control = counts["control"];
        assert!(
            control.allocations >= 2
                && control.environment == 1
                && control.files >= 1
                && control.locks >= 1,
            "{control:?}"
        );
        let first = counts["minimal first dispatch"];
        assert!(
            first.allocations > 0,
            "the first dispatch selects anew: {first:?}"
        );
        for what in ["minimal dispatch", "minimal plan"] {
            assert_eq!(counts[what], HookCounts::default(), "{what}");
        }
        // The fake's queue wakes a worker, which is a call of the system; nothing else may happen.
        for what in [
            "fake dispatch",
            "fake plan",
            "fake attention of changing lengths",
        ] {
            let counts = counts[what];
            assert_eq!(
                HookCounts {
                    system_calls: 0,
                    ..counts
                },
                HookCounts::default(),
                "{what}"
            );
        }
    });
}

#[test]
fn counts_stay_exact_while_another_thread_registers_providers() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86,sm_120").start();
        let scratch = Scratch::new("register");
        let libraries: Vec<_> = (0..12)
            .map(|i| {
                Hostile::new()
                    .text("NAME", format!("late{i}"))
                    .build(scratch.path(), &format!("late{i}"))
                    .unwrap()
            })
            .collect();
        let (done, calls) = (AtomicBool::new(false), 4);
        let counted: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..calls)
                .map(|thread| {
                    let (started, done) = (&started, &done);
                    scope.spawn(move || {
                        let stream = started
                            .runtime
                            .stream(&started.device(&format!("fake:{}", thread % 2)))
                            .unwrap();
                        let sum = Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap();
                        let mut count = 0;
                        while !done.load(Ordering::Relaxed) || count < 100 {
                            stream.dispatch(&sum.call()).unwrap();
                            count += 1;
                            if count % 64 == 0 {
                                stream.sync().unwrap();
                            }
                        }
                        sum.check(&stream).unwrap();
                        count
                    })
                })
                .collect();
            let generation = started.runtime.generation();
            for library in &libraries {
                started.runtime.load_provider(library).unwrap();
            }
            assert_eq!(started.runtime.generation(), generation + 12);
            done.store(true, Ordering::Relaxed);
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let even: u64 = counted.iter().step_by(2).sum();
        let odd: u64 = counted.iter().skip(1).step_by(2).sum();
        for (kernel, wanted) in [("fake/add/aligned", even), ("fake/add/sm90", odd)] {
            let counts = started.runtime.counts_of(kernel);
            assert_eq!(
                (
                    counts.selected,
                    counts.enqueued,
                    counts.completed,
                    counts.launches
                ),
                (wanted, wanted, wanted, wanted),
                "{kernel}"
            );
        }
        assert_eq!(
            started.observer.count("open_kernel"),
            2,
            "no kernel was set up twice"
        );
    });
}

#[test]
fn dispatch_goes_on_while_a_provider_takes_its_time() {
    case!("fake", [Gcc], || {
        let started = Fake::of("sm_86").start();
        let scratch = Scratch::new("slow-late");
        let slow = Hostile::new()
            .text("NAME", "slowlate")
            .number("SLOW_MS", 700)
            .build(scratch.path(), "slowlate")
            .unwrap();
        let stream = started.runtime.stream(&started.device("fake")).unwrap();
        let sum = Uploaded::new(&stream, problems::add(2, 8, F32)).unwrap();
        let loading = AtomicBool::new(true);
        std::thread::scope(|scope| {
            let (runtime, loading): (&Runtime, _) = (&started.runtime, &loading);
            scope.spawn(move || {
                runtime.load_provider(&slow).unwrap();
                loading.store(false, Ordering::SeqCst);
            });
            let mut during = 0;
            while loading.load(Ordering::SeqCst) {
                stream.dispatch(&sum.call()).unwrap();
                stream.sync().unwrap();
                during += 1;
            }
            assert!(during > 100, "{during} dispatches in 700 ms");
        });
    });
}

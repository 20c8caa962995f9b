//! Scenario 19: two providers with the same internal symbols do not clash, one file by two paths is one load, and starting and ending
//! can be done a thousand times, exit handlers included.

use overt::Runtime;
use overt::kernels::dtype::F32;
use overt_tests::hostile::{Hostile, Scratch};
use overt_tests::run::verified;
use overt_tests::start::Fake;
use overt_tests::{built, case, manifest, problems};
use std::process::Command;

#[test]
fn two_providers_with_the_same_internals_do_not_disturb_each_other() {
    case!("fake2", [Gcc], || {
        let started = Fake::of("sm_86")
            .with(|b| b.providers(built::fake2()))
            .start();
        for _ in 0..3 {
            for (device, kernel) in [("fake", "fake/add/aligned"), ("fake2", "fake2/add/first")] {
                assert_eq!(
                    verified(
                        &started.runtime,
                        &started.device(device),
                        problems::add(2, 8, F32)
                    )
                    .0,
                    kernel
                );
            }
        }
        // The second one's body has the symbol of another kernel of the first, and each counts for its own.
        assert_eq!(started.runtime.counts_of("fake2/add/first").completed, 3);
        assert!(started.runtime.counts_of("fake/add/reference").is_zero());
    });
}

#[test]
fn exported_symbols_of_one_name_stay_apart() {
    case!("hostile", [Gcc], || {
        let scratch = Scratch::new("symbols");
        let build = |name: &str| {
            Hostile::new()
                .text("NAME", name)
                .text("INTERNAL", format!("{name}-internal"))
                .build(scratch.path(), name)
                .unwrap()
        };
        let (one, two) = (build("one"), build("two"));
        let runtime = Runtime::builder()
            .search(false)
            .providers(one)
            .providers(two)
            .start()
            .unwrap();
        let versions: Vec<(String, String)> = runtime
            .providers()
            .into_iter()
            .map(|p| (p.name, p.version))
            .collect();
        assert_eq!(
            versions,
            [
                ("one".into(), "one-internal".into()),
                ("two".into(), "two-internal".into())
            ]
        );
    });
}

#[test]
fn one_file_through_a_link_is_one_load() {
    case!("hostile", [Gcc], || {
        let scratch = Scratch::new("link");
        let (folder, links) = (scratch.folder("real"), scratch.folder("links"));
        let library = Hostile::new().build(&folder, "hostile").unwrap();
        manifest::write(&library, |_| {});
        std::os::unix::fs::symlink(&library, links.join("libother.so")).unwrap();
        std::fs::hard_link(&library, links.join("libthird.so")).unwrap();
        let runtime = Runtime::builder()
            .search(false)
            .providers(&folder)
            .providers(&links)
            .start()
            .unwrap();
        assert_eq!(runtime.providers().len(), 1);
        let report = runtime.load_report().to_string();
        assert_eq!(report.matches("the same file as").count(), 2, "{report}");
        assert!(report.contains(library.to_str().unwrap()), "{report}");
    });
}

#[test]
fn a_thousand_starts_and_ends_in_one_process() {
    case!("fake", [Gcc], || {
        let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
        let mut before = None;
        for round in 0..1000 {
            let started = Fake::of("sm_86,gfx942").start();
            if round % 50 == 0 {
                verified(
                    &started.runtime,
                    &started.device("fake"),
                    problems::add(2, 8, F32),
                );
            }
            drop(started);
            // Other tests of this program come and go meanwhile, so the bounds are wide, and far below a thousand.
            if round == 10 {
                before = Some((descriptors(), threads()));
            }
        }
        let (files, workers) = before.unwrap();
        assert!(descriptors() < files + 100, "descriptors leak");
        assert!(threads() < workers + 100, "threads leak");
    });
}

#[test]
fn a_thousand_processes_with_exit_handlers_end_well() {
    case!("hostile", [Gcc], || {
        let scratch = Scratch::new("exits");
        let marker = scratch.path().join("exits");
        let library = Hostile::new()
            .text("EXIT_MARKER", &marker)
            .build(scratch.path(), "exits")
            .unwrap();
        let next = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while next.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 1000 {
                        let output = Command::new(env!("CARGO_BIN_EXE_overt-probe"))
                            .arg("start")
                            .arg(&library)
                            .output()
                            .unwrap();
                        assert!(output.status.success(), "{output:?}");
                    }
                });
            }
        });
        let text = std::fs::read_to_string(&marker).unwrap();
        assert_eq!(text.matches("exit handler\n").count(), 1000);
        assert_eq!(text.matches("destructor\n").count(), 1000);
    });
}

#[test]
fn a_process_may_end_with_work_pending_and_everything_open() {
    case!("fake", [Gcc], || {
        for how in ["leave", "exit"] {
            for _ in 0..50 {
                let output = Command::new(env!("CARGO_BIN_EXE_overt-probe"))
                    .arg(how)
                    .arg(built::fake())
                    .output()
                    .unwrap();
                assert!(output.status.success(), "{how}: {output:?}");
            }
        }
    });
}

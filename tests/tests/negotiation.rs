//! Scenario 9 and promise 4: no provider can crash negotiation, and the others still load. The loader's own tests hold each defect
//! against its exact error; here whole runtimes start.

use overt::Runtime;
use overt_tests::case;
use overt_tests::hostile::{Hostile, Scratch};
use overt_tests::manifest;

/// Defects with the words that their refusal must hold.
fn defects() -> Vec<(&'static str, Hostile, Vec<&'static str>)> {
    let h = Hostile::new;
    vec![
        ("older", h().number("ANSWER_VERSION", 0), vec!["0.0", "0.1"]),
        ("newer", h().number("ANSWER_VERSION", 2), vec!["0.2", "0.1"]),
        (
            "much newer",
            h().number("ANSWER_VERSION", "(1 << 16)"),
            vec!["1.0", "0.1"],
        ),
        (
            "garbage",
            h().number("ANSWER_VERSION", "0xdeadbeefu"),
            vec!["0xdeadbeef", "0.1"],
        ),
        (
            "refusing",
            h().with("REFUSE"),
            vec!["driver 3 is too old", "0.5", "0.1"],
        ),
        (
            "wild words",
            h().with("REFUSE").with("REFUSE_WORDS_WILD"),
            vec!["refuses"],
        ),
        (
            "small provider",
            h().number("PROVIDER_SIZE", 8),
            vec!["8", "OvertProvider"],
        ),
        (
            "small table",
            h().number("API_SIZE", 16),
            vec!["16", "OvertProviderApi"],
        ),
        (
            "huge table",
            h().number("API_SIZE", "0xfffffff8u"),
            vec!["OvertProviderApi"],
        ),
        (
            "small kernel",
            h().number("KERNEL_SIZE", 4),
            vec!["OvertKernelDecl"],
        ),
        (
            "small clause",
            h().number("CLAUSE_SIZE", 4),
            vec!["OvertClause"],
        ),
        ("null table", h().with("NULL_API"), vec!["api", "null"]),
        (
            "null kernels",
            h().with("NULL_KERNELS"),
            vec!["kernels", "null"],
        ),
        ("null entry", h().with("NULL_ENTRY"), vec!["launch"]),
        ("null ops", h().with("NULL_OPS"), vec!["ops", "null"]),
        ("no provider", h().with("NULL_PROVIDER"), vec!["null"]),
        (
            "wild kernels",
            h().number("KERNELS_AT", 4096),
            vec!["kernels", "0x1000"],
        ),
        (
            "countless kernels",
            h().number("KERNEL_COUNT", "0xffffffffu"),
            vec!["kernels"],
        ),
        (
            "half a capture",
            h().with("NULL_CAPTURE_END"),
            vec!["capture_end"],
        ),
        ("writing beyond", h().with("WRITE_BEYOND"), vec!["beyond"]),
        (
            "unknown requirement",
            h().number("PROVIDER_REQUIRED", 4),
            vec!["0x4"],
        ),
        (
            "two of one id",
            h().with("DUPLICATE_ID"),
            vec!["hostile/add/first"],
        ),
        (
            "no symbol",
            h().with("NO_SYMBOL"),
            vec!["overt_provider_query"],
        ),
        ("broken name", h().with("NAME_NOT_UTF8"), vec!["UTF-8"]),
    ]
}

#[test]
fn asked_for_it_refuses_with_the_reason_and_found_it_leaves_the_others() {
    case!("hostile", [Gcc], || {
        for (what, hostile, parts) in defects() {
            let scratch = Scratch::new("negotiation");
            let library = hostile.build(scratch.path(), "hostile").unwrap();
            let error = Runtime::builder()
                .search(false)
                .providers(&library)
                .start()
                .unwrap_err()
                .to_string();
            for part in &parts {
                assert!(
                    error.contains(part),
                    "{what}: `{part}` is missing from: {error}"
                );
            }
            // In a folder, with a manifest that a good build of it had: it is not the file that was built, or it lies. Found, not
            // asked for, so the start goes on and the good one beside it serves.
            let folder = scratch.folder("found");
            let good = Hostile::new()
                .text("NAME", "good")
                .build(&folder, "good")
                .unwrap();
            manifest::write(&good, |_| {});
            let bad = Hostile::new().build(&folder, "bad").unwrap();
            manifest::write(&bad, |m| {
                m.sha256 = overt::load::file_digest(&library).unwrap()
            });
            std::fs::copy(&library, folder.join("libbad.so.new")).unwrap();
            std::fs::rename(folder.join("libbad.so.new"), folder.join("libbad.so")).unwrap();
            let runtime = Runtime::builder()
                .search(false)
                .providers(&folder)
                .start()
                .unwrap();
            let names: Vec<String> = runtime.providers().into_iter().map(|p| p.name).collect();
            assert_eq!(names, ["good"], "{what}: {}", runtime.load_report());
            let report = runtime.load_report().to_string();
            for part in &parts {
                assert!(
                    report.contains(part),
                    "{what}: `{part}` is missing from: {report}"
                );
            }
        }
    });
}

#[test]
fn a_longer_struct_of_a_newer_header_is_read_by_its_common_part() {
    case!("hostile", [Gcc], || {
        let scratch = Scratch::new("newer");
        let library = Hostile::new()
            .with("NEWER")
            .build(scratch.path(), "newer")
            .unwrap();
        let runtime = Runtime::builder()
            .search(false)
            .providers(&library)
            .start()
            .unwrap();
        let kernels: Vec<String> = runtime.kernels().into_iter().map(|k| k.decl.id).collect();
        assert_eq!(kernels, ["hostile/add/first", "hostile/add/second"]);
    });
}

#[test]
fn a_slow_query_delays_its_own_start_and_no_other() {
    case!("hostile", [Gcc], || {
        let scratch = Scratch::new("slow");
        let slow = Hostile::new()
            .text("NAME", "slow")
            .number("SLOW_MS", 1500)
            .build(scratch.path(), "slow")
            .unwrap();
        let quick = Hostile::new()
            .text("NAME", "quick")
            .build(scratch.path(), "quick")
            .unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for path in [slow, quick] {
                let sender = sender.clone();
                scope.spawn(move || {
                    let runtime = Runtime::builder()
                        .search(false)
                        .providers(&path)
                        .start()
                        .unwrap();
                    sender.send(runtime.providers()[0].name.clone()).unwrap();
                });
                // The slow one holds its lock by the time that the quick one starts.
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
        });
        assert_eq!(
            receiver.try_iter().take(2).collect::<Vec<_>>(),
            ["quick", "slow"]
        );
    });
}

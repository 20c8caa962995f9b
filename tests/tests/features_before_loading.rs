//! Scenario 20: a library built for instructions that this CPU, or its operating system, does not enable is never opened.

use overt::Runtime;
use overt_tests::case;
use overt_tests::hostile::{Hostile, Scratch};
use overt_tests::manifest;

/// Features that this very machine lacks, and one that no machine has.
fn lacking() -> Vec<String> {
    let enabled = overt::load::enabled_features();
    let mut names: Vec<String> = [
        "avx2",
        "avx512f",
        "avx512vl",
        "avx512fp16",
        "amx-tile",
        "sve",
        "neon",
    ]
    .into_iter()
    .filter(|name| !enabled.contains(name))
    .map(str::to_owned)
    .collect();
    names.push("made-up-vectors".into());
    names
}

#[test]
fn a_library_for_instructions_that_are_not_enabled_is_excluded_by_its_manifest() {
    case!("hostile", [Gcc], || {
        for feature in lacking() {
            let scratch = Scratch::new("features");
            let folder = scratch.folder("found");
            let marker = scratch.path().join("constructor-ran");
            let library = Hostile::new()
                .text("MARKER", &marker)
                .build(&folder, "wide")
                .unwrap();
            // Its declarations come from a twin, so that writing the manifest does not open it.
            let twin = Hostile::new().build(scratch.path(), "twin").unwrap();
            manifest::write(&twin, |m| {
                m.cpu_features = vec!["sse2".into(), feature.clone()];
                m.sha256 = overt::load::file_digest(&library).unwrap();
            });
            std::fs::copy(
                overt::load::Manifest::path_for(&twin),
                overt::load::Manifest::path_for(&library),
            )
            .unwrap();
            let runtime = Runtime::builder()
                .search(false)
                .providers(&folder)
                .start()
                .unwrap();
            let report = runtime.load_report().to_string();
            assert!(
                runtime.providers().is_empty() && report.contains(&feature),
                "{report}"
            );
            assert!(!marker.exists(), "its constructor ran");
            let error = Runtime::builder()
                .search(false)
                .providers(&library)
                .start()
                .unwrap_err()
                .to_string();
            assert!(error.contains(&feature), "{error}");
            assert!(!marker.exists(), "its constructor ran");
            // Its kernels stay visible, with the reason.
            assert_eq!(
                runtime
                    .kernels()
                    .iter()
                    .filter(|k| k.failed.as_ref().is_some_and(|why| why.contains(&feature)))
                    .count(),
                2
            );
        }
    });
}

#[test]
fn features_that_are_enabled_exclude_nothing() {
    case!("hostile", [Gcc], || {
        let scratch = Scratch::new("enabled");
        let marker = scratch.path().join("constructor-ran");
        let folder = scratch.folder("found");
        let library = Hostile::new()
            .text("MARKER", &marker)
            .build(&folder, "narrow")
            .unwrap();
        manifest::write(&library, |m| {
            m.cpu_features = overt::load::enabled_features()
                .into_iter()
                .map(str::to_owned)
                .collect()
        });
        let runtime = Runtime::builder()
            .search(false)
            .providers(&folder)
            .start()
            .unwrap();
        assert_eq!(runtime.providers().len(), 1, "{}", runtime.load_report());
        assert!(marker.exists());
    });
}

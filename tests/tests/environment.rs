//! Promise 10: no provider reads the environment. A hook under the process names every variable and the library that asked for it.

use overt_tests::{built, case};
use std::path::Path;
use std::process::Command;

/// Variables read by providers while everything they have runs. A provider is loaded through its descriptor, so the hook knows it by
/// a number, or by its file where the loader resolved that.
fn read_by_providers(misbehave: &str, providers: &[&Path]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_overt-probe"))
        .arg("environment")
        .arg(misbehave)
        .args(providers)
        .env("LD_PRELOAD", built::hooks())
        .env("OVERT_FAKE_SECRET", "7")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("executed "), "{text}");
    let reads: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("read "))
        .collect();
    assert!(
        reads.contains(&"overt-probe OVERT_PROBE"),
        "a process that reads no variable at all has no hook: {text}"
    );
    let names: Vec<&str> = providers
        .iter()
        .filter_map(|p| p.file_name()?.to_str())
        .collect();
    reads
        .into_iter()
        .filter(|line| {
            let library = line.split(' ').next().unwrap_or_default();
            library.bytes().all(|b| b.is_ascii_digit()) || names.contains(&library)
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn no_provider_reads_the_environment() {
    case!("cpu", [Gcc], || {
        let providers = [built::cpu(), built::minimal(), built::fake()];
        assert_eq!(read_by_providers("", &providers), Vec::<String>::new());
    });
}

#[test]
fn one_that_does_is_named_with_the_variable() {
    case!("fake", [Gcc], || {
        let reads = read_by_providers("env", &[built::fake()]);
        assert_eq!(reads.len(), 1, "{reads:?}");
        assert!(reads[0].ends_with(" OVERT_FAKE_SECRET"), "{reads:?}");
    });
}

#[test]
fn a_panic_inside_a_provider_does_not_make_it_look_for_backtrace_settings() {
    case!("fake", [Gcc], || {
        assert_eq!(
            read_by_providers("panic:body", &[built::fake()]),
            Vec::<String>::new()
        );
        assert_eq!(
            read_by_providers("panic:launch", &[built::fake()]),
            Vec::<String>::new()
        );
    });
}

//! The ledger of executed cases, as JSON lines in `$OVERT_LEDGER_DIR/<test file>.jsonl`. `docs/ci.md` states its format.
//!
//! A case that lacks a capability is recorded as skipped, with the reason that the probe gave; the case itself has no say in it.

use crate::capability::Capability;
use serde_json::json;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;

/// Runs a case: `case!("provider", [capabilities], || body)`. The case's name is the test file's and the test function's.
#[macro_export]
macro_rules! case {
    ($provider:expr, [$($need:ident),* $(,)?], $body:expr $(,)?) => {{
        fn here() {}
        $crate::ledger::run(
            env!("CARGO_CRATE_NAME"),
            std::any::type_name_of_val(&here),
            $provider,
            &[$($crate::capability::Capability::$need),*],
            $body,
        )
    }};
}

/// Runs one case and records what came of it. A failure is passed on, so that the test fails too.
pub fn run(file: &str, function: &str, provider: &str, needs: &[Capability], body: impl FnOnce()) {
    let name = function.trim_end_matches("::here");
    let case = name.replace("::", "/");
    let needed: Vec<&str> = needs.iter().map(|need| need.name()).collect();
    let line = |outcome: &str, reason: &str| {
        record(
            file,
            &json!({
                "case": case, "needs": needed, "provider": provider, "outcome": outcome, "reason": reason,
            }),
        );
    };
    line("declared", "");
    let mut lacking = Vec::new();
    for need in needs {
        let probed = need.probe();
        record(
            file,
            &json!({
                "capability": need.name(), "present": probed.is_ok(), "reason": probed.as_ref().err(),
            }),
        );
        if let Err(why) = probed {
            lacking.push(format!("{}: {why}", need.name()));
        }
    }
    if !lacking.is_empty() {
        let reason = lacking.join("; ");
        println!("skipped {case}: {reason}");
        line("skipped", &reason);
        return;
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(()) => line("executed", ""),
        Err(thrown) => {
            let words = thrown
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| thrown.downcast_ref::<&str>().copied())
                .unwrap_or("it panicked without words");
            line("failed", words);
            resume_unwind(thrown)
        }
    }
}

/// Appends one line. One write a line, so that threads and processes do not mix theirs.
fn record(file: &str, line: &serde_json::Value) {
    let Some(folder) = std::env::var_os("OVERT_LEDGER_DIR") else {
        return;
    };
    let path = PathBuf::from(folder).join(format!("{file}.jsonl"));
    let written = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut ledger| ledger.write_all(format!("{line}\n").as_bytes()));
    if let Err(error) = written {
        panic!("the ledger {} cannot be written: {error}", path.display());
    }
}

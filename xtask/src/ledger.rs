//! The ledger of executed cases: what the tests say they ran, and whether that is enough.
//!
//! Each integration test file appends JSON lines to `<its name>.jsonl` in the ledger's folder. A line is one of
//!
//! ```json
//! {"capability": "avx512f", "present": false, "reason": "the CPU does not have it"}
//! {"case": "verify/cpu/add/first/odd", "needs": ["gcc"], "provider": "cpu", "outcome": "declared"}
//! {"case": "verify/cpu/add/first/odd", "needs": ["gcc"], "provider": "cpu", "outcome": "executed"}
//! {"case": "…", "needs": ["avx512f"], "outcome": "skipped", "reason": "avx512f: the CPU does not have it"}
//! {"case": "…", "needs": [], "outcome": "failed", "reason": "…"}
//! ```
//!
//! Capabilities are probed apart from the cases. A case that was declared must reach another outcome. A skip is right only
//! where one of its needs is a capability that a probe found absent.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Case(CaseLine),
    Capability(CapabilityLine),
}

#[derive(Deserialize)]
struct CaseLine {
    case: String,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    provider: Option<String>,
    outcome: Outcome,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct CapabilityLine {
    capability: String,
    present: bool,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Declared,
    Skipped,
    Executed,
    Failed,
}

struct Case {
    needs: Vec<String>,
    provider: Option<String>,
    outcome: Outcome,
    reason: String,
}

/// What must have been executed, from `tests/floors.toml`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floors {
    /// Test files that must leave a ledger, by name without ending.
    #[serde(default)]
    files: BTreeSet<String>,
    /// Least number of executed cases by provider.
    #[serde(default)]
    providers: BTreeMap<String, usize>,
}

impl Floors {
    /// Reads them.
    pub fn read(path: &Path) -> Result<Floors> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        toml::from_str(&text).with_context(|| path.display().to_string())
    }
}

/// Everything that the ledger holds.
#[derive(Default)]
pub struct Ledger {
    cases: BTreeMap<String, Case>,
    capabilities: BTreeMap<String, bool>,
    files: BTreeSet<String>,
}

impl Ledger {
    /// Reads all files of a folder. A folder that does not exist holds nothing.
    pub fn read(folder: &Path) -> Result<Ledger> {
        let mut ledger = Ledger::default();
        let entries = match std::fs::read_dir(folder) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(ledger),
            entries => entries.with_context(|| folder.display().to_string())?,
        };
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_none_or(|end| end != "jsonl") {
                continue;
            }
            let text =
                std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let name = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            ledger.add(&name, &text)?;
        }
        Ok(ledger)
    }

    fn add(&mut self, file: &str, text: &str) -> Result<()> {
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
        {
            let line: Line = serde_json::from_str(line).with_context(|| {
                format!(
                    "ledger {file}.jsonl, line {}: not a case and not a capability",
                    number + 1
                )
            })?;
            match line {
                Line::Capability(line) => {
                    let before = self
                        .capabilities
                        .insert(line.capability.clone(), line.present);
                    if before.is_some_and(|before| before != line.present) {
                        bail!(
                            "ledger {file}.jsonl: capability `{}` is present by one probe and absent by another",
                            line.capability
                        );
                    }
                }
                Line::Case(line) => {
                    self.files.insert(file.to_owned());
                    let new = Case {
                        needs: line.needs,
                        provider: line.provider,
                        outcome: line.outcome,
                        reason: line.reason,
                    };
                    match self.cases.get_mut(&line.case) {
                        // The worse outcome stands: a case that ran twice and failed once has failed.
                        Some(old) if old.outcome >= new.outcome => {}
                        Some(old) => *old = new,
                        None => drop(self.cases.insert(line.case, new)),
                    }
                }
            }
        }
        Ok(())
    }

    fn with(&self, outcome: Outcome) -> impl Iterator<Item = (&String, &Case)> {
        self.cases
            .iter()
            .filter(move |(_, case)| case.outcome == outcome)
    }

    /// Number of cases that were executed, failed ones included.
    pub fn executed(&self) -> usize {
        self.with(Outcome::Executed).count() + self.with(Outcome::Failed).count()
    }

    /// No case is in it.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// `executed N of M, skipped K`, and each reason for skipping with its number of cases.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "executed {} of {}, skipped {}",
            self.executed(),
            self.cases.len(),
            self.with(Outcome::Skipped).count()
        );
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, case) in self.with(Outcome::Skipped) {
            *reasons
                .entry(if case.reason.is_empty() {
                    "no reason given"
                } else {
                    &case.reason
                })
                .or_default() += 1;
        }
        for (reason, count) in reasons {
            text.push_str(&format!("\n  skipped {count}: {reason}"));
        }
        text
    }

    /// What is wrong with what was executed. `floors`: `None` for a filtered run, which executes less by design.
    pub fn complaints(&self, floors: Option<&Floors>) -> Vec<String> {
        let mut complaints = Vec::new();
        for (name, case) in self.with(Outcome::Failed) {
            complaints.push(format!("case `{name}` failed: {}", case.reason));
        }
        for (name, _) in self.with(Outcome::Declared) {
            complaints.push(format!("case `{name}` was declared and has no result"));
        }
        for (name, case) in self.with(Outcome::Skipped) {
            let absent = |need: &String| self.capabilities.get(need) == Some(&false);
            if !case.needs.iter().any(absent) {
                complaints.push(format!(
                    "case `{name}` was skipped ({}) though no probe found one of its needs absent: {:?}",
                    case.reason, case.needs
                ));
            }
        }
        let Some(floors) = floors else {
            return complaints;
        };
        for file in floors.files.difference(&self.files) {
            complaints.push(format!("test file `{file}` left no case in the ledger"));
        }
        for (provider, floor) in &floors.providers {
            let executed = self
                .with(Outcome::Executed)
                .filter(|(_, case)| case.provider.as_ref() == Some(provider))
                .count();
            if executed < *floor {
                complaints.push(format!(
                    "provider `{provider}`: {executed} cases executed, the floor is {floor}"
                ));
            }
        }
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(text: &str) -> Ledger {
        let mut ledger = Ledger::default();
        ledger.add("file", text).unwrap();
        ledger
    }

    const CASES: &str = r#"
        {"capability": "wide", "present": false}
        {"capability": "gcc", "present": true}
        {"case": "a", "needs": ["gcc"], "provider": "cpu", "outcome": "declared"}
        {"case": "a", "needs": ["gcc"], "provider": "cpu", "outcome": "executed"}
        {"case": "b", "needs": ["gcc", "wide"], "outcome": "skipped", "reason": "wide: absent"}
    "#;

    #[test]
    fn skips_are_counted_with_their_reasons() {
        let ledger = ledger(CASES);
        assert_eq!(
            ledger.summary(),
            "executed 1 of 2, skipped 1\n  skipped 1: wide: absent"
        );
        assert_eq!(ledger.complaints(None), Vec::<String>::new());
    }

    #[test]
    fn a_skip_that_nothing_excuses_a_case_without_result_and_a_failure_are_complaints() {
        let text = r#"
            {"capability": "gcc", "present": true}
            {"case": "lazy", "needs": ["gcc"], "outcome": "skipped", "reason": "felt like it"}
            {"case": "lost", "outcome": "declared"}
            {"case": "bad", "outcome": "failed", "reason": "3 is not 4"}
            {"case": "bad", "outcome": "executed"}
            {"case": "unprobed", "needs": ["moon"], "outcome": "skipped"}
        "#;
        let complaints = ledger(text).complaints(None).join("\n");
        for part in ["`lazy`", "`lost`", "3 is not 4", "`unprobed`"] {
            assert!(complaints.contains(part), "{part}: {complaints}");
        }
    }

    #[test]
    fn floors_and_expected_files_hold() {
        let floors: Floors =
            toml::from_str("files = [\"file\", \"gone\"]\n[providers]\ncpu = 2\n").unwrap();
        let complaints = ledger(CASES).complaints(Some(&floors));
        assert_eq!(
            complaints,
            [
                "test file `gone` left no case in the ledger",
                "provider `cpu`: 1 cases executed, the floor is 2"
            ]
        );
    }

    #[test]
    fn probes_that_contradict_each_other_and_unknown_lines_are_errors() {
        let mut ledger = ledger(CASES);
        assert!(
            ledger
                .add("x", r#"{"capability": "gcc", "present": false}"#)
                .is_err()
        );
        assert!(ledger.add("x", r#"{"case": "a"}"#).is_err());
    }
}

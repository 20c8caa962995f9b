//! What `overt run` reports, and how it reads.

use super::rates::RatesReport;
use crate::exit::{Exit, Failure};
use crate::table;
use overt::measure::Limit;
use overt::verify::{Check, Ran};
use overt::workload::BoundCall;
use overt::{DeviceKind, Runtime, Selection, Tier};
use serde::Serialize;
use std::fmt::Write;

#[derive(Serialize)]
pub struct RunReport {
    pub workload: String,
    pub doc: String,
    pub device: String,
    pub arch: String,
    /// The kind of that device; a call that another device served has its own.
    pub evidence: DeviceKind,
    pub seed: u64,
    /// `first`: one repeat of each line was checked; `all`.
    pub checked_repeats: &'static str,
    /// What the device can do at most, measured before the first call; `null` with `--no-rates`.
    pub rates: Option<RatesReport>,
    pub calls: Vec<CallReport>,
    pub summary: Summary,
}

/// Counts of calls, repeats included, except `lines`.
#[derive(Default, Serialize)]
pub struct Summary {
    pub lines: usize,
    pub calls: u64,
    pub executed: u64,
    pub skipped: u64,
    pub checked: u64,
    pub failed: u64,
    pub seconds: f64,
}

/// One line of the workload.
#[derive(Serialize)]
pub struct CallReport {
    pub line: usize,
    pub op: String,
    pub tag: String,
    pub repeat: u64,
    /// `passed`, `failed`, `refused`, `error` or `no_work`.
    pub result: &'static str,
    /// Why it did not pass, or what went wrong.
    pub why: Option<String>,
    pub kernel: Option<String>,
    pub tier: Option<Tier>,
    pub fallback: Option<FallbackView>,
    pub host_fallback: bool,
    /// The kind of the device that did the work.
    pub evidence: DeviceKind,
    /// Device launches, all repeats together.
    pub launches: u64,
    /// Calls that completed, by the witness.
    pub executed: u64,
    /// Calls whose outputs were compared.
    pub checked: u64,
    pub elements: u64,
    pub compared: u64,
    pub sampled: bool,
    /// The greatest error as a share of what the tolerance allows; `null` when infinite or nothing was compared.
    pub worst: Option<f64>,
    pub checks: Vec<Check>,
    /// Host wall-clock milliseconds of one call, queueing included: the mean over the repeats behind the first where there are
    /// any.
    pub milliseconds: Option<f64>,
    /// The least bytes that the call moves, by its milliseconds, in 10⁹ a second.
    pub gigabytes_per_second: Option<f64>,
    /// The operations of the call, by its milliseconds, in 10⁹ a second.
    pub gigaflops_per_second: Option<f64>,
    /// What bounds the call from below.
    pub limit: Option<Limit>,
    /// The least time by the measured rates, as a share of the time taken.
    pub share: Option<f64>,
}

#[derive(Serialize)]
pub struct FallbackView {
    pub cause: overt::ReasonCause,
    pub passed_over: Vec<String>,
}

impl CallReport {
    pub fn new(call: &BoundCall, evidence: DeviceKind) -> CallReport {
        CallReport {
            line: call.line,
            op: call.op.name().to_owned(),
            tag: call.tag.clone(),
            repeat: call.repeat,
            result: "passed",
            why: None,
            kernel: None,
            tier: None,
            fallback: None,
            host_fallback: false,
            evidence,
            launches: 0,
            executed: 0,
            checked: 0,
            elements: 0,
            compared: 0,
            sampled: false,
            worst: None,
            checks: Vec::new(),
            milliseconds: None,
            gigabytes_per_second: None,
            gigaflops_per_second: None,
            limit: None,
            share: None,
        }
    }

    /// Takes what ran from the receipt, and holds it against what was selected.
    pub fn ran(&mut self, runtime: &Runtime, selection: &Selection, ran: &Ran) {
        self.kernel = Some(ran.kernel.clone());
        self.host_fallback = ran.launched.host_fallback;
        self.tier = runtime
            .kernels()
            .iter()
            .find(|k| k.decl.id == ran.kernel)
            .map(|k| k.decl.tier);
        self.fallback = selection.fallback.as_ref().map(|f| FallbackView {
            cause: f.cause(),
            passed_over: f
                .causes
                .iter()
                .map(|(kernel, cause)| format!("{kernel} ({cause})"))
                .collect(),
        });
        if self.host_fallback {
            // The work was done elsewhere, and its evidence is that device's.
            let counted = runtime.counts();
            let device = counted
                .iter()
                .find(|c| c.kernel == ran.kernel && c.counts.host_fallbacks > 0)
                .and_then(|c| runtime.device(&c.device).ok());
            if let Some(device) = device {
                self.evidence = device.info().kind;
            }
        } else if let Some(chosen) = &selection.chosen
            && chosen.kernel != ran.kernel
        {
            self.result = "failed";
            self.why = Some(format!(
                "{} was selected, and {} ran",
                chosen.kernel, ran.kernel
            ));
        }
    }

    pub fn same(&mut self, ran: &Ran) -> Result<(), Failure> {
        if self.kernel.as_deref() == Some(&ran.kernel) {
            return Ok(());
        }
        Err(Failure::new(
            Exit::Failed,
            format!("a repeat was served by {}", ran.kernel),
        ))
    }

    /// The call in the table.
    fn row(&self) -> [String; 10] {
        let what = if self.tag.is_empty() {
            &self.op
        } else {
            &self.tag
        };
        let tier = self.tier.map_or("-".to_owned(), |t| t.to_string());
        [
            what.clone(),
            self.kernel
                .clone()
                .unwrap_or_else(|| format!("none ({})", self.op)),
            if self.host_fallback {
                format!("{tier}, HOST FALLBACK ({})", self.evidence)
            } else if self.fallback.is_some() {
                format!("{tier}, FALLBACK")
            } else {
                tier
            },
            self.launches.to_string(),
            match (self.result, self.worst) {
                ("failed", _) => "FAILED".to_owned(),
                ("refused", _) => "REFUSED".to_owned(),
                ("error", _) => "ERROR".to_owned(),
                (_, Some(worst)) => table::share(worst),
                _ => "-".to_owned(),
            },
            if self.sampled {
                self.compared.to_string()
            } else if self.checked > 0 {
                "all".to_owned()
            } else {
                "-".to_owned()
            },
            number(self.milliseconds, 3),
            number(self.gigabytes_per_second, 1),
            number(self.gigaflops_per_second, 1),
            match (self.share, self.limit) {
                (Some(share), Some(Limit::Memory)) => format!("{:.0} % M", 100.0 * share),
                (Some(share), Some(Limit::Arithmetic)) => format!("{:.0} % A", 100.0 * share),
                _ => "-".to_owned(),
            },
        ]
    }

    pub fn count(&mut self, ran: &Ran, times: u64) {
        if ran.launched.launches > 0 {
            self.executed += times;
            self.launches += u64::from(ran.launched.launches) * times;
        }
    }
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |v| format!("{v:.digits$}"))
}

pub fn text(report: &RunReport) -> String {
    let mut t = String::new();
    let _ = writeln!(
        t,
        "{}\non {} ({}), evidence {}, seed {}\n",
        if report.doc.is_empty() {
            &report.workload
        } else {
            &report.doc
        },
        report.device,
        report.arch,
        report.evidence,
        report.seed
    );
    let mut rows = table::table(&[
        "call", "kernel", "tier", "launches", "error", "compared", "ms", "GB/s", "GFLOP/s", "limit",
    ]);
    for c in &report.calls {
        rows.add_row(c.row());
    }
    for column in [0, 1, 6, 7, 8, 9] {
        table::whole(&mut rows, column);
    }
    table::right(&mut rows, &[3, 4, 5, 6, 7, 8, 9]);
    t.push_str(&table::text(&mut rows));
    t.push_str(
        "\nerror: the greatest, as a share of what the op's tolerance allows; above 1 fails. compared: output elements\n\
         held against the oracle; a number is that of a seeded sample, where the whole oracle would take long.\n\
         ms: one call, wall clock, on warm memory. GB/s, GFLOP/s: the call's least bytes and its operations by that time.\n\
         limit: the least time by the device's rates, of memory (M) or arithmetic (A), as a share of that time; above 100 %\n\
         where operands came from a cache.\n",
    );
    if let Some(rates) = &report.rates {
        rates.text(&mut t);
    }
    for c in report.calls.iter().filter(|c| c.fallback.is_some()) {
        if let Some(f) = &c.fallback {
            let _ = writeln!(
                t,
                "\nFALLBACK ({}) line {}, {} {}: passed over {}",
                f.cause,
                c.line,
                c.op,
                c.tag,
                f.passed_over.join(", ")
            );
        }
    }
    for c in &report.calls {
        if let Some(why) = &c.why {
            let _ = writeln!(
                t,
                "\n{} line {}, {} {}: {why}",
                c.result.to_uppercase(),
                c.line,
                c.op,
                c.tag
            );
        }
    }
    let s = &report.summary;
    let _ = writeln!(
        t,
        "\nexecuted {} of {} calls ({} lines), skipped {}, failed {}, in {:.1} s\nchecked {}: {}",
        s.executed,
        s.calls,
        s.lines,
        s.skipped,
        s.failed,
        s.seconds,
        s.checked,
        if report.checked_repeats == "all" {
            "every call, with contents of its own"
        } else {
            "the first of each line's repeats (--check-all checks every one)"
        }
    );
    t
}

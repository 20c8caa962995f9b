//! `overt run`: every call of a workload, dispatched and checked.

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::out::Out;
use crate::{start, table};
use indicatif::{ProgressBar, ProgressStyle};
use overt::verify::{Check, Depth, Placed, Ran, Wanted};
use overt::workload::{BoundCall, Workload};
use overt::{DeviceKind, Runtime, Selection, Stream, Tier};
use serde::Serialize;
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Instant;

/// Options of `run`.
#[derive(clap::Args)]
pub struct Options {
    /// A workload file
    workload: PathBuf,
    /// The device; the first of all if not given
    #[arg(long)]
    device: Option<String>,
    /// Check every repeat of a call, each with contents of its own, not only the first
    #[arg(long)]
    check_all: bool,
    /// Compare every element, however long the oracle takes
    #[arg(long)]
    whole: bool,
    /// Seed of all contents; the workload's own if not given
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Serialize)]
struct RunReport {
    workload: String,
    doc: String,
    device: String,
    arch: String,
    seed: u64,
    /// `first`: one repeat of each line was checked; `all`.
    checked_repeats: &'static str,
    calls: Vec<CallReport>,
    summary: Summary,
}

/// Counts of calls, repeats included, except `lines`.
#[derive(Default, Serialize)]
struct Summary {
    lines: usize,
    calls: u64,
    executed: u64,
    skipped: u64,
    checked: u64,
    failed: u64,
    seconds: f64,
}

/// One line of the workload.
#[derive(Serialize)]
struct CallReport {
    line: usize,
    op: String,
    tag: String,
    repeat: u64,
    /// `passed`, `failed`, `refused`, `error` or `no_work`.
    result: &'static str,
    /// Why it did not pass, or what went wrong.
    why: Option<String>,
    kernel: Option<String>,
    tier: Option<Tier>,
    fallback: Option<FallbackView>,
    host_fallback: bool,
    /// The kind of the device that did the work.
    evidence: DeviceKind,
    /// Device launches, all repeats together.
    launches: u64,
    /// Calls that completed, by the witness.
    executed: u64,
    /// Calls whose outputs were compared.
    checked: u64,
    elements: u64,
    compared: u64,
    sampled: bool,
    /// The greatest error as a share of what the tolerance allows; `null` when infinite or nothing was compared.
    worst: Option<f64>,
    checks: Vec<Check>,
    /// Host wall-clock milliseconds of one call, queueing included: the mean over the repeats behind the first where there are
    /// any.
    milliseconds: Option<f64>,
}

#[derive(Serialize)]
struct FallbackView {
    cause: overt::ReasonCause,
    passed_over: Vec<String>,
}

pub fn command(global: &Global, options: &Options, out: &mut Out) -> Result<Exit, Failure> {
    let started = Instant::now();
    let workload = Workload::read(&options.workload)?;
    let runtime = start::runtime(global)?;
    let calls = workload.bind(&runtime)?;
    let total: u64 = calls.iter().map(|c| c.repeat).sum();
    let device = match &options.device {
        Some(name) => runtime.device(name)?,
        None => runtime.devices().into_iter().next().ok_or_else(|| {
            let why = start::no_device(&runtime).unwrap_or_default();
            Failure::new(Exit::Nothing, format!("executed 0 of {total}: {why}"))
        })?,
    };
    let stream = runtime.stream(&device)?;
    let seed = options.seed.unwrap_or(workload.seed);
    let runner = Runner {
        runtime: &runtime,
        stream: &stream,
        depth: if options.whole {
            Depth::whole()
        } else {
            Depth::default()
        },
        check_all: options.check_all,
    };
    let bar = bar(calls.len() as u64);
    let mut worst_exit = Exit::Success;
    let mut reports = Vec::with_capacity(calls.len());
    for (number, call) in calls.iter().enumerate() {
        bar.set_position(number as u64);
        bar.set_message(format!("{} {}", call.op.name(), call.tag));
        let mut report = CallReport::new(call, device.info().kind);
        // Seeds differ from line to line, so that no two calls have the same weights.
        if let Err(failure) =
            runner.call(call, seed.wrapping_add(1000 * number as u64), &mut report)
        {
            report.result = match failure.exit {
                Exit::Refused => "refused",
                Exit::Failed => "failed",
                _ => "error",
            };
            report.why = Some(failure.message);
            worst_exit = worse(worst_exit, failure.exit);
        }
        if report.result == "failed" {
            worst_exit = worse(worst_exit, Exit::Failed);
        }
        reports.push(report);
    }
    bar.finish_and_clear();
    let mut summary = Summary {
        lines: reports.len(),
        calls: total,
        executed: reports.iter().map(|r| r.executed).sum(),
        checked: reports.iter().map(|r| r.checked).sum(),
        failed: reports
            .iter()
            .filter(|r| !matches!(r.result, "passed" | "no_work"))
            .map(|r| r.repeat)
            .sum(),
        seconds: started.elapsed().as_secs_f64(),
        ..Summary::default()
    };
    summary.skipped = total - summary.executed.min(total);
    let nothing = summary.executed == 0;
    out.value(
        &RunReport {
            workload: options.workload.display().to_string(),
            doc: workload.doc.clone(),
            device: device.name().to_owned(),
            arch: device.info().arch.name.clone(),
            seed,
            checked_repeats: if options.check_all { "all" } else { "first" },
            calls: reports,
            summary,
        },
        text,
    );
    Ok(if worst_exit == Exit::Success && nothing {
        Exit::Nothing
    } else {
        worst_exit
    })
}

/// The weightier of two ends: wrong numbers, then a failed device, then bad input, then a refusal.
fn worse(a: Exit, b: Exit) -> Exit {
    let rank = |exit: Exit| match exit {
        Exit::Success => 0,
        Exit::Nothing => 1,
        Exit::Refused => 2,
        Exit::Usage => 3,
        Exit::Provider => 4,
        Exit::Failed => 5,
    };
    if rank(b) > rank(a) { b } else { a }
}

fn bar(length: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

struct Runner<'r> {
    runtime: &'r Runtime,
    stream: &'r Stream,
    depth: Depth,
    check_all: bool,
}

impl Runner<'_> {
    fn call(&self, call: &BoundCall, seed: u64, report: &mut CallReport) -> Result<(), Failure> {
        let host = call.fill(seed)?;
        let placed = Placed::new(self.stream, &call.op, host)?;
        let selection = self
            .runtime
            .explain(&placed.problem()?, self.stream.device())?;
        let started = Instant::now();
        let ran = placed.dispatch(self.stream)?;
        let first = started.elapsed().as_secs_f64() * 1e3;
        report.ran(self.runtime, &selection, &ran);
        report.count(&ran, 1);
        self.check(&placed, &call.op, seed, report)?;
        report.milliseconds = Some(first);
        let rest = call.repeat - 1;
        if rest > 0 && self.check_all {
            for repeat in 1..=rest {
                let seed = seed.wrapping_add(repeat);
                let placed = Placed::new(self.stream, &call.op, call.fill(seed)?)?;
                let ran = placed.dispatch(self.stream)?;
                report.same(&ran)?;
                report.count(&ran, 1);
                self.check(&placed, &call.op, seed, report)?;
            }
        } else if rest > 0 {
            let started = Instant::now();
            let ran = placed.dispatch_times(self.stream, rest)?;
            report.milliseconds = Some(started.elapsed().as_secs_f64() * 1e3 / rest as f64);
            report.same(&ran)?;
            report.count(&ran, rest);
        }
        if report.executed == 0 {
            report.result = "no_work";
        }
        Ok(())
    }

    fn check(
        &self,
        placed: &Placed,
        op: &overt::Op,
        seed: u64,
        report: &mut CallReport,
    ) -> Result<(), Failure> {
        let wanted = Wanted::of(op, placed.host(), &self.depth, seed)?;
        let check = placed.check(self.stream, &wanted)?;
        report.checked += 1;
        report.sampled |= wanted.is_sampled();
        report.elements += check.elements();
        report.compared += check.compared();
        if let Some((_, worst)) = check.worst() {
            report.worst = Some(report.worst.map_or(worst.ratio, |w| w.max(worst.ratio)));
        }
        if !check.passed() {
            report.result = "failed";
            report.why = Some(check.to_string());
        }
        report.checks.push(check);
        Ok(())
    }
}

impl CallReport {
    fn new(call: &BoundCall, evidence: DeviceKind) -> CallReport {
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
        }
    }

    /// Takes what ran from the receipt, and holds it against what was selected.
    fn ran(&mut self, runtime: &Runtime, selection: &Selection, ran: &Ran) {
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

    fn same(&mut self, ran: &Ran) -> Result<(), Failure> {
        if self.kernel.as_deref() == Some(&ran.kernel) {
            return Ok(());
        }
        Err(Failure::new(
            Exit::Failed,
            format!("a repeat was served by {}", ran.kernel),
        ))
    }

    /// The call in the table.
    fn row(&self) -> [String; 8] {
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
                format!("{tier}, HOST FALLBACK")
            } else if self.fallback.is_some() {
                format!("{tier}, FALLBACK")
            } else {
                tier
            },
            self.evidence.to_string(),
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
            self.milliseconds
                .map_or("-".to_owned(), |ms| format!("{ms:.3}")),
        ]
    }

    fn count(&mut self, ran: &Ran, times: u64) {
        if ran.launched.launches > 0 {
            self.executed += times;
            self.launches += u64::from(ran.launched.launches) * times;
        }
    }
}

fn text(report: &RunReport) -> String {
    let mut t = String::new();
    let _ = writeln!(
        t,
        "{}\non {} ({}), seed {}\n",
        if report.doc.is_empty() {
            &report.workload
        } else {
            &report.doc
        },
        report.device,
        report.arch,
        report.seed
    );
    let mut rows = table::table(&[
        "call", "kernel", "tier", "evidence", "launches", "error", "compared", "ms",
    ]);
    for c in &report.calls {
        rows.add_row(c.row());
    }
    table::whole(&mut rows, 1);
    table::right(&mut rows, &[4, 5, 6, 7]);
    t.push_str(&table::text(&mut rows));
    t.push_str(
        "\nerror: the greatest, as a share of what the op's tolerance allows; above 1 fails. compared: output elements\n\
         held against the oracle; a number is that of a seeded sample, where the whole oracle would take long.\n\
         ms: one call, wall clock\n",
    );
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

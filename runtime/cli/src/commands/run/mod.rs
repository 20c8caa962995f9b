//! `overt run`: every call of a workload, dispatched and checked.

mod rates;
mod report;

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::out::Out;
use crate::start;
use indicatif::{ProgressBar, ProgressStyle};
use overt::kernels::ops;
use overt::measure::{Arithmetic, Rates};
use overt::verify::{Depth, Placed, Wanted};
use overt::workload::{BoundCall, Workload};
use overt::{Runtime, Stream};
use rates::RatesReport;
use report::{CallReport, RunReport, Summary, text};
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
    /// Do not measure what the device can do first, and hold no time against it
    #[arg(long)]
    no_rates: bool,
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
    let rates = if options.no_rates {
        None
    } else {
        Some(Rates::measure(&stream)?)
    };
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
        rates: rates.as_ref(),
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
            evidence: device.info().kind,
            seed,
            checked_repeats: if options.check_all { "all" } else { "first" },
            rates: rates.as_ref().map(RatesReport::of),
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
        Exit::Interrupted => 6,
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
    rates: Option<&'r Rates>,
}

impl Runner<'_> {
    fn call(&self, call: &BoundCall, seed: u64, report: &mut CallReport) -> Result<(), Failure> {
        let host = call.fill(seed)?;
        let placed = Placed::new(self.stream, &call.op, host)?;
        let selection = self
            .runtime
            .explain(&placed.problem()?, self.stream.device())?;
        // The uploads are the stream's work too, and not the call's.
        self.stream.sync()?;
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
        } else {
            self.speed(&placed, report);
        }
        Ok(())
    }

    /// Holds the time against the op's least work and the device's rates. Provider-own ops state no work.
    fn speed(&self, placed: &Placed, report: &mut CallReport) {
        let host = placed.host();
        let (Some(op), Some(milliseconds)) = (ops::find(&host.schema.name), report.milliseconds)
        else {
            return;
        };
        let (work, seconds) = ((op.work)(host), milliseconds / 1e3);
        report.gigabytes_per_second = Some(work.bytes / seconds / 1e9);
        report.gigaflops_per_second = Some(work.flops / seconds / 1e9);
        if report.host_fallback {
            // The rates are those of the device that did not do the work.
            return;
        }
        if let Some(Ok(share)) = self
            .rates
            .map(|rates| rates.share(work, Arithmetic::of(host), seconds))
        {
            report.limit = Some(share.limit);
            report.share = Some(share.share);
        }
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

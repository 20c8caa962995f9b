//! `overt verify`: every kernel on every device over its op's geometries.

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::out::Out;
use crate::{start, table};
use indicatif::{ProgressBar, ProgressStyle};
use overt::verify::{Depth, Filter, KernelReport, Report, State, Sweep, Tally};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal;

/// Options of `verify`.
#[derive(clap::Args)]
pub struct Options {
    /// Only kernels of this op
    #[arg(long)]
    op: Option<String>,
    /// Only this kernel
    #[arg(long)]
    kernel: Option<String>,
    /// Only on this device
    #[arg(long)]
    device: Option<String>,
    /// Only geometries whose name holds this text
    #[arg(long)]
    geometry: Option<String>,
    /// Seed of all contents
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Compare every element, however long the oracle takes
    #[arg(long)]
    whole: bool,
}

#[derive(Serialize)]
struct Verified {
    summary: Summary,
    #[serde(flatten)]
    report: Report,
    /// Why there is no device; `null` where there is one.
    no_device: Option<String>,
    #[serde(skip)]
    verbose: bool,
}

/// Counts over geometries and kernels: a geometry put to three kernels counts three.
#[derive(Serialize)]
struct Summary {
    /// Geometries put to kernels that can run here.
    planned: u64,
    /// Those that were launched, pinned and witnessed, and compared.
    executed: u64,
    /// Those that were not: `not_eligible` and `empty`.
    skipped: u64,
    /// Rejected by the kernel's guard.
    not_eligible: u64,
    /// Without work, and served without a launch.
    empty: u64,
    kernels: usize,
    passed: usize,
    failed: usize,
    not_runnable: usize,
}

pub fn command(global: &Global, options: &Options, out: &mut Out) -> Result<Exit, Failure> {
    let runtime = start::runtime(global)?;
    let depth = if options.whole {
        Depth::whole()
    } else {
        Depth::default()
    };
    let bar = if std::io::stderr().is_terminal() {
        let bar = ProgressBar::new(0);
        bar.enable_steady_tick(std::time::Duration::from_millis(200));
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}")
        {
            bar.set_style(style);
        }
        bar
    } else {
        ProgressBar::hidden()
    };
    let report = Sweep::new(&runtime)
        .filter(Filter {
            op: options.op.clone(),
            kernel: options.kernel.clone(),
            device: options.device.clone(),
            geometry: options.geometry.clone(),
        })
        .depth(depth)
        .seed(options.seed)
        .run(&mut |p| {
            bar.set_length(p.total);
            bar.set_position(p.done);
            bar.set_message(format!("{} {} {}", p.device, p.op, p.geometry));
        });
    bar.finish_and_clear();
    let report = report?;
    let verified = Verified {
        summary: summary(&report),
        no_device: start::no_device(&runtime),
        report,
        verbose: global.verbose > 0,
    };
    out.value(&verified, text);
    Ok(if verified.summary.failed > 0 {
        Exit::Failed
    } else if verified.summary.executed == 0 {
        Exit::Nothing
    } else {
        Exit::Success
    })
}

fn summary(report: &Report) -> Summary {
    let runnable = || {
        report
            .kernels
            .iter()
            .filter(|k| !matches!(k.state, State::NotRunnable { .. }))
    };
    let not_eligible = runnable().map(|k| k.not_eligible.len() as u64).sum();
    let empty = runnable().map(|k| k.empty).sum();
    let (planned, executed) = (report.planned(), report.executed());
    Summary {
        planned,
        executed,
        skipped: planned.saturating_sub(executed),
        not_eligible,
        empty,
        kernels: report.kernels.len(),
        passed: report
            .kernels
            .iter()
            .filter(|k| k.state == State::Passed)
            .count(),
        failed: report.failed().count(),
        not_runnable: report.kernels.len() - runnable().count(),
    }
}

/// Most failures of one kernel that the text shows; JSON has all.
const SHOWN: usize = 5;

fn text(verified: &Verified) -> String {
    let report = &verified.report;
    let mut t = String::new();
    let mut rows = table::table(&[
        "kernel", "device", "executed", "worst", "again", "batch", "packed", "s", "result",
    ]);
    for k in &report.kernels {
        let empty = if k.empty > 0 {
            format!(" +{}", k.empty)
        } else {
            String::new()
        };
        rows.add_row([
            k.kernel.clone(),
            format!("{} {}", k.device, k.evidence),
            format!("{}{empty} of {}", k.executed, k.geometries),
            k.worst
                .as_ref()
                .map_or("-".into(), |w| table::share(w.worst.ratio)),
            tally(k.deterministic),
            tally(k.batch_invariant),
            tally(k.packed),
            format!("{:.1}", k.seconds),
            k.state.word().to_owned(),
        ]);
    }
    for column in [0, 1, 8] {
        table::whole(&mut rows, column);
    }
    table::right(&mut rows, &[3, 4, 5, 6, 7]);
    if !report.kernels.is_empty() {
        t.push_str(&table::text(&mut rows));
        t.push_str(
            "\nexecuted: launched and compared (+ without work); worst: error as a share of the tolerance;\n\
             again: runs repeated bit for bit; batch: parts of batches with the bits of the whole;\n\
             packed: runs with weights in the kernel's own layout\n",
        );
    }
    for k in &report.kernels {
        match &k.state {
            State::NotRunnable { reason } => {
                let _ = writeln!(
                    t,
                    "\n{} on {}: not runnable here: {reason}",
                    k.kernel, k.device
                );
            }
            State::Failed => failures(&mut t, k),
            _ => {}
        }
        if verified.verbose && !k.not_eligible.is_empty() {
            not_eligible(&mut t, k);
        }
    }
    for u in &report.unverified {
        let _ = writeln!(
            t,
            "\n{} of {}: UNVERIFIED on {}, it brings no oracle: {}",
            u.op,
            u.provider,
            u.device,
            u.kernels.join(", ")
        );
    }
    if let Some(why) = &verified.no_device {
        let _ = writeln!(t, "{why}");
    }
    let s = &verified.summary;
    let _ = writeln!(
        t,
        "\nexecuted {} of {}, skipped {} ({} not eligible, {} without work)\nkernels: {} passed, {} failed, {} not runnable here",
        s.executed,
        s.planned,
        s.skipped,
        s.not_eligible,
        s.empty,
        s.passed,
        s.failed,
        s.not_runnable
    );
    t
}

fn tally(tally: Option<Tally>) -> String {
    tally.map_or("-".into(), |t| {
        if t.differed == 0 {
            t.compared.to_string()
        } else {
            format!("{} of {} DIFFER", t.differed, t.compared)
        }
    })
}

fn failures(t: &mut String, k: &KernelReport) {
    let _ = writeln!(
        t,
        "\n{} on {}: {} FAILED",
        k.kernel,
        k.device,
        k.failures.len()
    );
    for failure in k.failures.iter().take(SHOWN) {
        let place = if failure.geometry.is_empty() {
            String::new()
        } else {
            format!("{}: ", failure.geometry)
        };
        let _ = writeln!(t, "  {place}{}", failure.what);
    }
    if k.failures.len() > SHOWN {
        let _ = writeln!(
            t,
            "  and {} more (--json has all)",
            k.failures.len() - SHOWN
        );
    }
}

/// Reasons with the number of geometries that they rejected.
fn not_eligible(t: &mut String, k: &KernelReport) {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in k.not_eligible.iter().flat_map(|n| &n.reasons) {
        *reasons.entry(reason).or_default() += 1;
    }
    let _ = writeln!(
        t,
        "\n{} on {}: {} geometries not eligible",
        k.kernel,
        k.device,
        k.not_eligible.len()
    );
    for (reason, count) in reasons {
        let _ = writeln!(t, "  {count} x {reason}");
    }
}

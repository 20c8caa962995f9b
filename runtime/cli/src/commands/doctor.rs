//! `overt doctor`: where providers were looked for, what came of it, and what this machine offers.

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::out::Out;
use crate::start;
use crate::view::FailedView;
use overt::load::{LoadReport, Outcome};
use overt::{Error, Runtime};
use serde::Serialize;
use std::fmt::Write;

#[derive(Serialize)]
struct Doctor {
    overt: &'static str,
    abi: AbiView,
    machine: Machine,
    tried: Vec<TriedView>,
    providers: Vec<ProviderView>,
    /// Providers that did not load, or loaded and did not start.
    failed_providers: Vec<FailedView>,
    refused_ops: Vec<RefusedOp>,
    /// Why the runtime does not start with these options; `null` when it does.
    error: Option<String>,
}

#[derive(Serialize)]
struct AbiView {
    oldest: String,
    newest: String,
}

#[derive(Serialize)]
struct Machine {
    arch: &'static str,
    os: &'static str,
    glibc: Option<String>,
    cpu_features: Vec<&'static str>,
    privileged: Option<String>,
    cpus: usize,
}

#[derive(Serialize)]
struct TriedView {
    path: String,
    origin: String,
    asked_for: bool,
    outcome: &'static str,
    words: String,
    milliseconds: f64,
}

#[derive(Serialize)]
struct ProviderView {
    name: String,
    version: String,
    path: String,
    sha256: String,
    abi: String,
    compiler: Option<String>,
    revision: Option<String>,
    devices: usize,
    kernels: usize,
    words: String,
}

#[derive(Serialize)]
struct RefusedOp {
    provider: String,
    op: String,
    reason: String,
}

pub fn command(global: &Global, out: &mut Out) -> Result<Exit, Failure> {
    let (doctor, exit) = match start::load(global) {
        Ok(runtime) => (
            gather(Some(&runtime), &runtime.load_report(), None),
            Exit::Success,
        ),
        // What was tried is worth most when something that was asked for failed.
        Err(Error::Load(error)) => (
            gather(None, &error.report, Some(error.to_string())),
            Exit::Provider,
        ),
        Err(error) => return Err(error.into()),
    };
    out.value(&doctor, text);
    Ok(exit)
}

fn gather(runtime: Option<&Runtime>, report: &LoadReport, error: Option<String>) -> Doctor {
    Doctor {
        overt: env!("CARGO_PKG_VERSION"),
        abi: AbiView {
            oldest: overt::load::decl::abi_version_text(overt::load::HOST_ABI_MIN),
            newest: overt::load::decl::abi_version_text(overt::load::HOST_ABI_MAX),
        },
        machine: Machine {
            arch: std::env::consts::ARCH,
            os: std::env::consts::OS,
            glibc: overt::load::glibc_version().map(|(major, minor)| format!("{major}.{minor}")),
            cpu_features: overt::load::enabled_features(),
            privileged: overt::load::privileged(),
            cpus: std::thread::available_parallelism().map_or(0, usize::from),
        },
        tried: report
            .tried
            .iter()
            .map(|tried| TriedView {
                path: tried.path.display().to_string(),
                origin: tried.origin.to_string(),
                asked_for: tried.asked_for,
                outcome: match tried.outcome {
                    Outcome::Listed { .. } => "listed",
                    Outcome::Loaded { .. } => "loaded",
                    Outcome::Duplicate { .. } => "duplicate",
                    Outcome::Missing => "missing",
                    Outcome::Refused(_) => "refused",
                },
                words: tried.outcome.to_string(),
                milliseconds: tried.took.as_secs_f64() * 1e3,
            })
            .collect(),
        providers: runtime.map(providers).unwrap_or_default(),
        failed_providers: runtime
            .map(Runtime::failed_providers)
            .unwrap_or_default()
            .iter()
            .map(|f| FailedView {
                provider: f.label(),
                reason: f.reason.to_string(),
            })
            .collect(),
        refused_ops: runtime
            .map(Runtime::refused_ops)
            .unwrap_or_default()
            .into_iter()
            .map(|(provider, op, reason)| RefusedOp {
                provider,
                op,
                reason,
            })
            .collect(),
        error,
    }
}

fn providers(runtime: &Runtime) -> Vec<ProviderView> {
    runtime
        .providers()
        .into_iter()
        .map(|p| ProviderView {
            name: p.name,
            version: p.version,
            path: p.path.display().to_string(),
            sha256: p.digest,
            abi: p.abi,
            compiler: p.build.as_ref().map(|b| b.compiler.clone()),
            revision: p.build.as_ref().map(|b| b.revision.clone()),
            devices: p.devices,
            kernels: p.kernels,
            words: p.words,
        })
        .collect()
}

fn text(doctor: &Doctor) -> String {
    let mut t = String::new();
    let machine = &doctor.machine;
    // Writing to a text cannot fail.
    let _ = writeln!(
        t,
        "overt {}, ABI {} to {}",
        doctor.overt, doctor.abi.oldest, doctor.abi.newest
    );
    let _ = writeln!(
        t,
        "{} {}, glibc {}, {} CPUs",
        machine.arch,
        machine.os,
        machine.glibc.as_deref().unwrap_or("none"),
        machine.cpus
    );
    let _ = writeln!(t, "CPU features that are enabled:");
    t.push_str(&wrapped(&machine.cpu_features, 98));
    if let Some(why) = &machine.privileged {
        let _ = writeln!(t, "this process is privileged: {why}");
    }
    let _ = writeln!(t, "\nlooked for providers in:");
    for tried in &doctor.tried {
        let path = if tried.path.is_empty() {
            "(empty)"
        } else {
            &tried.path
        };
        let _ = writeln!(t, "  {path}\n      {}: {}", tried.origin, tried.words);
    }
    if doctor.tried.is_empty() {
        let _ = writeln!(t, "  nowhere: give --providers, or do without --no-search");
    }
    let _ = writeln!(t, "\nproviders that run:");
    for p in &doctor.providers {
        let _ = writeln!(
            t,
            "  {} {}, ABI {}, {} devices, {} kernels\n      {}\n      sha256 {}",
            p.name, p.version, p.abi, p.devices, p.kernels, p.path, p.sha256
        );
        if let Some(compiler) = p.compiler.as_ref().filter(|c| !c.is_empty()) {
            let _ = writeln!(t, "      built by {compiler}");
        }
        for line in p.words.lines() {
            let _ = writeln!(t, "      says: {line}");
        }
    }
    if doctor.providers.is_empty() {
        let _ = writeln!(t, "  none");
    }
    for failed in &doctor.failed_providers {
        let _ = writeln!(t, "  not {}: {}", failed.provider, failed.reason);
    }
    for refused in &doctor.refused_ops {
        let _ = writeln!(
            t,
            "op {} of {} is refused: {}",
            refused.op, refused.provider, refused.reason
        );
    }
    if let Some(error) = &doctor.error {
        let _ = writeln!(t, "\nthe runtime does not start: {error}");
    }
    t
}

/// Words in lines of at most `width` columns, indented by two.
fn wrapped(words: &[&str], width: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in words {
        if column == 0 || column + 1 + word.len() > width {
            out.push_str(if column == 0 { "  " } else { "\n  " });
            column = 2;
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.len();
    }
    out.push('\n');
    out
}

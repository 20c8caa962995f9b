//! `overt ops`.

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::out::Out;
use crate::start;
use serde::Serialize;
use std::fmt::Write;

/// Options of `ops`.
#[derive(clap::Args)]
pub struct Options {
    /// Only this op
    op: Option<String>,
}

#[derive(Serialize)]
struct Ops {
    ops: Vec<OpView>,
    refused: Vec<RefusedView>,
}

#[derive(Serialize)]
struct OpView {
    op: String,
    doc: String,
    /// The provider that brings it; `null` for a common op.
    provider: Option<String>,
    verifiable: bool,
    geometries: Option<usize>,
    /// Kernels that any provider declares for it.
    kernels: usize,
    digest: String,
    schema: String,
}

#[derive(Serialize)]
struct RefusedView {
    provider: String,
    op: String,
    reason: String,
}

pub fn command(global: &Global, options: &Options, out: &mut Out) -> Result<Exit, Failure> {
    let runtime = start::runtime(global)?;
    let kernels = runtime.kernels();
    let ops = match &options.op {
        Some(name) => vec![runtime.op(name)?],
        None => runtime.ops(),
    };
    let ops = ops
        .iter()
        .map(|op| OpView {
            op: op.name().to_owned(),
            doc: op.common().map_or("", |c| c.doc).to_owned(),
            provider: op.provider().map(str::to_owned),
            verifiable: op.verifiable(),
            geometries: op.common().map(|c| (c.geometries)().len()),
            kernels: kernels.iter().filter(|k| k.decl.op == op.name()).count(),
            digest: format!("{:016x}", op.schema().digest),
            schema: op
                .common()
                .map_or_else(|| op.schema().canonical.clone(), |c| c.schema.to_owned()),
        })
        .collect();
    let refused = runtime
        .refused_ops()
        .into_iter()
        .map(|(provider, op, reason)| RefusedView {
            provider,
            op,
            reason,
        })
        .collect();
    out.value(&Ops { ops, refused }, text);
    Ok(Exit::Success)
}

fn text(view: &Ops) -> String {
    let mut t = String::new();
    for (n, op) in view.ops.iter().enumerate() {
        if n > 0 {
            t.push('\n');
        }
        for line in op.schema.lines() {
            let _ = writeln!(t, "{line}");
        }
        if !op.doc.is_empty() {
            let _ = writeln!(t, "    {}", op.doc);
        }
        let _ = writeln!(
            t,
            "    {}, {}, {} kernels, digest {}",
            op.provider
                .as_ref()
                .map_or("common".to_owned(), |p| format!("brought by {p}")),
            match (op.verifiable, op.geometries) {
                (true, Some(n)) => format!("verified over {n} geometries"),
                (true, None) => "verified by its provider's oracle".to_owned(),
                (false, _) => "UNVERIFIED: it brings no oracle".to_owned(),
            },
            op.kernels,
            op.digest
        );
    }
    for r in &view.refused {
        let _ = writeln!(t, "\nrefused: {} of {}: {}", r.op, r.provider, r.reason);
    }
    t
}

//! `overt kernels`.

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::out::Out;
use crate::{start, table};
use overt::{KernelListing, Tier};
use serde::Serialize;
use std::fmt::Write;

/// Options of `kernels`.
#[derive(clap::Args)]
pub struct Options {
    /// Only those of this op
    op: Option<String>,
}

#[derive(Serialize)]
struct Kernels {
    kernels: Vec<KernelView>,
}

#[derive(Serialize)]
struct KernelView {
    op: String,
    kernel: String,
    provider: String,
    tier: Tier,
    priority: i32,
    images: Vec<String>,
    numeric_class: Option<String>,
    flags: Vec<&'static str>,
    handles: Vec<String>,
    knobs: Vec<String>,
    doc: String,
    /// `ready`, `not_built`, `not_loaded`, `unusable` or `refused`.
    state: &'static str,
    /// Why it is not ready.
    why: Option<String>,
}

pub fn command(global: &Global, options: &Options, out: &mut Out) -> Result<Exit, Failure> {
    let runtime = start::runtime(global)?;
    let only = options.op.as_deref().map(|n| runtime.op(n)).transpose()?;
    let kernels = runtime
        .kernels()
        .iter()
        .filter(|k| only.as_ref().is_none_or(|op| op.name() == k.decl.op))
        .map(view)
        .collect();
    out.value(&Kernels { kernels }, text);
    Ok(Exit::Success)
}

fn view(kernel: &KernelListing) -> KernelView {
    let decl = &kernel.decl;
    let (state, why) = if let Some(why) = &kernel.failed {
        ("not_loaded", Some(why.clone()))
    } else if let Some(why) = &decl.not_built {
        ("not_built", Some(why.clone()))
    } else if let Some(why) = &kernel.refused {
        ("refused", Some(why.clone()))
    } else if let Some(why) = decl.unusable.first() {
        ("unusable", Some(why.to_string()))
    } else {
        ("ready", None)
    };
    let flags = [
        (decl.flags.capture_safe(), "capture_safe"),
        (decl.flags.allocates(), "allocates"),
        (decl.flags.host_sync(), "host_sync"),
        (decl.flags.deterministic(), "deterministic"),
        (decl.flags.in_place(), "in_place"),
        (decl.flags.launch_empty(), "launch_empty"),
    ];
    KernelView {
        op: decl.op.clone(),
        kernel: decl.id.clone(),
        provider: kernel.provider.clone(),
        tier: decl.tier,
        priority: decl.priority,
        images: kernel.images.clone(),
        numeric_class: decl.numeric_class.clone(),
        flags: flags
            .iter()
            .filter(|(on, _)| *on)
            .map(|(_, n)| *n)
            .collect(),
        handles: decl.handles.clone(),
        knobs: decl.knobs.clone(),
        doc: decl.doc.clone(),
        state,
        why,
    }
}

fn text(view: &Kernels) -> String {
    if view.kernels.is_empty() {
        return "no kernels: no provider was found that declares one (overt doctor)\n".into();
    }
    let mut t = String::new();
    let mut rest = view.kernels.as_slice();
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|k| k.op == first.op).count();
        let (group, others) = rest.split_at(count);
        rest = others;
        let _ = writeln!(t, "{}", first.op);
        let mut rows = table::table(&["kernel", "tier", "prio", "numeric class", "state"]);
        for k in group {
            rows.add_row([
                k.kernel.clone(),
                k.tier.to_string(),
                k.priority.to_string(),
                k.numeric_class.clone().unwrap_or_else(|| "-".into()),
                k.state.replace('_', " "),
            ]);
        }
        table::whole(&mut rows, 0);
        table::right(&mut rows, &[2]);
        t.push_str(&table::text(&mut rows));
        for k in group.iter().filter(|k| !k.images.is_empty()) {
            let _ = writeln!(t, "  images of {}: {}", k.kernel, k.images.join(", "));
        }
        for k in group {
            if let Some(why) = &k.why {
                let _ = writeln!(t, "  {}: {}: {why}", k.kernel, k.state.replace('_', " "));
            }
        }
        if !rest.is_empty() {
            t.push('\n');
        }
    }
    t
}

//! `overt explain`: what would be chosen, and why everything else would not.

use crate::args::{Global, OnFallback};
use crate::exit::{Exit, Failure};
use crate::out::Out;
use crate::start;
use crate::view::SelectionView;
use overt::{Selection, workload};
use serde::Serialize;

/// Options of `explain`.
#[derive(clap::Args)]
#[command(after_help = "\
A tensor is dtype[extents], with strides in elements and the alignment in bytes where they matter:
  overt explain rms_norm x=bf16[2,64]:[128,1]@2 weight=bf16[64] out=bf16[2,64] eps=1e-5")]
pub struct Options {
    /// The op, with or without its version
    op: String,
    // As an attribute of clap's, since rustdoc would read the brackets as links.
    #[arg(
        value_name = "NAME=VALUE",
        help = "operand=dtype[extents][:[strides]][@alignment] and attribute=value"
    )]
    args: Vec<String>,
    /// Only on this device
    #[arg(long)]
    device: Option<String>,
    /// As a stream that captures would ask
    #[arg(long)]
    capturing: bool,
}

#[derive(Serialize)]
struct Explained {
    selections: Vec<SelectionView>,
    #[serde(skip)]
    texts: Vec<String>,
    /// Devices on which the policy refuses the fallback that would be chosen.
    refused_by_policy: Vec<String>,
}

pub fn command(global: &Global, options: &Options, out: &mut Out) -> Result<Exit, Failure> {
    let runtime = start::runtime(global)?;
    let op = runtime.op(&options.op)?;
    let problem = workload::problem(&op, &options.args)?.capturing(options.capturing);
    let devices = match &options.device {
        Some(name) => vec![runtime.device(name)?],
        None => runtime.devices(),
    };
    if let Some(why) = start::no_device(&runtime) {
        return Err(Failure::new(Exit::Nothing, why));
    }
    let selections = devices
        .iter()
        .map(|device| runtime.explain(&problem, device))
        .collect::<Result<Vec<Selection>, overt::Error>>()?;
    let strict = global.policy == OnFallback::Strict;
    let refused = |s: &&Selection| strict && s.fallback.is_some();
    let explained = Explained {
        refused_by_policy: selections
            .iter()
            .filter(refused)
            .map(|s| s.device.clone())
            .collect(),
        texts: selections.iter().map(ToString::to_string).collect(),
        selections: selections.iter().map(SelectionView::from).collect(),
    };
    out.value(&explained, text);
    let none = selections.iter().any(|s| s.chosen.is_none());
    Ok(if none || !explained.refused_by_policy.is_empty() {
        Exit::Refused
    } else {
        Exit::Success
    })
}

fn text(explained: &Explained) -> String {
    let mut t = explained.texts.join("\n\n");
    t.push('\n');
    for device in &explained.refused_by_policy {
        t.push_str(&format!("the policy refuses this fallback on {device}\n"));
    }
    t
}

//! What ran, as the program shows it.

use crate::exit::Failure;
use crate::table;
use crate::view::SelectionView;
use overt::Tier;
use overt_engine::{Engine, Kind};
use serde::Serialize;

/// An op's evidence.
#[derive(Serialize)]
pub struct OpEvidence {
    /// The op, with version.
    pub op: String,
    /// Calls that the model's shape asks for, over all passes.
    pub expected: u64,
    /// Milliseconds in one more run of the last pass.
    pub milliseconds: f64,
    /// Its share of that run.
    pub share: f64,
    /// The kernels that served it.
    pub kernels: Vec<KernelEvidence>,
}

/// A kernel's evidence.
#[derive(Serialize)]
pub struct KernelEvidence {
    /// Its id.
    pub kernel: String,
    /// Its tier.
    pub tier: Tier,
    /// Calls that completed.
    pub completed: u64,
    /// Present where it ran though a better tier has a kernel for the device.
    pub fallback: Option<SelectionView>,
    /// The same in words.
    #[serde(skip)]
    why: Option<String>,
}

/// The evidence of an engine.
pub fn of(engine: &Engine) -> Result<Vec<OpEvidence>, Failure> {
    let evidence = engine.evidence()?;
    let whole: f64 = evidence.ops.iter().map(|op| op.time.as_secs_f64()).sum();
    let expected = |kind: Kind| {
        let of_kind = evidence.expected.iter().filter(|(known, _)| *known == kind);
        of_kind.map(|(_, count)| count).sum()
    };
    Ok(evidence
        .ops
        .into_iter()
        .map(|op| OpEvidence {
            expected: expected(op.kind),
            milliseconds: op.time.as_secs_f64() * 1e3,
            share: if whole > 0.0 {
                op.time.as_secs_f64() / whole
            } else {
                0.0
            },
            kernels: op
                .kernels
                .into_iter()
                .map(|used| KernelEvidence {
                    kernel: used.kernel,
                    tier: used.tier,
                    completed: used.completed,
                    why: used.fallback.as_ref().map(ToString::to_string),
                    fallback: used.fallback.as_ref().map(SelectionView::from),
                })
                .collect(),
            op: op.op,
        })
        .collect())
}

/// A table of it, and under it the fallbacks and why.
pub fn text(ops: &[OpEvidence]) -> String {
    let mut rows = table::table(&["op", "kernel", "tier", "calls", "of", "time"]);
    table::right(&mut rows, &[3, 4, 5]);
    table::whole(&mut rows, 1);
    let mut fallbacks = String::new();
    for op in ops {
        for (number, used) in op.kernels.iter().enumerate() {
            let first = |text: String| if number == 0 { text } else { String::new() };
            rows.add_row([
                first(op.op.clone()),
                used.kernel.clone(),
                format!(
                    "{}{}",
                    used.tier,
                    if used.fallback.is_some() {
                        " (fallback)"
                    } else {
                        ""
                    }
                ),
                used.completed.to_string(),
                first(op.expected.to_string()),
                first(format!("{:.1} %", op.share * 100.0)),
            ]);
            if let Some(why) = &used.why {
                fallbacks.push_str(&format!("\nfallback of {}:\n{why}\n", op.op));
            }
        }
    }
    let mut text = table::text(&mut rows);
    if fallbacks.is_empty() {
        text.push_str("no fallbacks\n");
    }
    text + &fallbacks
}

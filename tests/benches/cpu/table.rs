//! Rows of figures, shown as they come and written as a page at the end.

use super::timing::Times;
use overt::measure::{Limit, Rates, Share};
use std::fmt::Write as _;

/// One timed call.
pub struct Row {
    pub what: String,
    /// The kernel, without the provider's name.
    pub kernel: String,
    pub times: Times,
    pub share: Option<Share>,
    /// Each peer's name and times, or why it has none.
    pub peers: Vec<(String, Result<Times, String>)>,
    /// What else there is to say.
    pub note: String,
}

/// Rows under one heading.
pub struct Section {
    pub title: String,
    pub rows: Vec<Result<Row, (String, String)>>,
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

impl Row {
    fn cells(&self) -> [String; 7] {
        let (rates, share) = match &self.share {
            Some(share) => (
                [share.bytes_per_second, share.flops_per_second].map(|r| format!("{:.1}", r / 1e9)),
                format!(
                    "{:.0} % of {}",
                    share.share * 100.0,
                    match share.limit {
                        Limit::Memory => "memory",
                        Limit::Arithmetic => "arithmetic",
                    }
                ),
            ),
            None => (["-".into(), "-".into()], "-".into()),
        };
        let peers: Vec<String> = self
            .peers
            .iter()
            .map(|(name, times)| match times {
                Ok(times) => format!("{name} {:.2}", times.median / self.times.median),
                Err(reason) => format!("{name}: {reason}"),
            })
            .collect();
        let [bytes, flops] = rates;
        let took = format!(
            "{} ±{:.0} %",
            time(self.times.median),
            self.times.spread() * 100.0
        );
        let mut last = peers.join("; ");
        if !self.note.is_empty() {
            let _ = write!(
                last,
                "{}{}",
                if last.is_empty() { "" } else { "; " },
                self.note
            );
        }
        [
            self.what.clone(),
            self.kernel.clone(),
            took,
            bytes,
            flops,
            share,
            last,
        ]
    }
}

const HEADINGS: [&str; 7] = [
    "call",
    "kernel",
    "time",
    "GB/s",
    "GFLOP/s",
    "share",
    "peers' time over ours",
];

/// Shows a row in the terminal.
pub fn show(row: &Result<Row, (String, String)>) {
    match row {
        Ok(row) => {
            let [what, kernel, took, bytes, flops, share, peers] = row.cells();
            println!(
                "{what:<44} {kernel:<30} {took:>16} {bytes:>7} {flops:>7}  {share:<18} {peers}"
            );
        }
        Err((what, reason)) => println!("{what:<44} not timed: {reason}"),
    }
}

/// What the device can do, in words.
pub fn rates(rates: &Rates) -> String {
    let one = |name: &str, unit: &str, rate: &Result<overt::measure::Rate, String>| match rate {
        Ok(rate) => format!(
            "{name} {:.1} {unit} ({})",
            rate.per_second / 1e9,
            rate.kernel
        ),
        Err(reason) => format!(
            "{name}: none, {}",
            reason.lines().next().unwrap_or_default()
        ),
    };
    [
        one("reading", "GB/s", &rates.memory),
        one("f32", "GFLOP/s", &rates.f32),
        one("bf16", "GFLOP/s", &rates.bf16),
        one("int8", "GOP/s", &rates.int8),
    ]
    .join("; ")
}

/// The page.
pub fn page(head: &[String], sections: &[Section]) -> String {
    let mut page = String::new();
    for line in head {
        let _ = writeln!(page, "- {line}");
    }
    for section in sections {
        let _ = writeln!(
            page,
            "\n### {}\n\n| {} |",
            section.title,
            HEADINGS.join(" | ")
        );
        let _ = writeln!(page, "|---|---|---|---:|---:|---|---|");
        for row in &section.rows {
            let _ = match row {
                Ok(row) => writeln!(page, "| {} |", row.cells().join(" | ")),
                Err((what, reason)) => writeln!(page, "| {what} | not timed: {reason} | | | | | |"),
            };
        }
    }
    page
}

//! The device's rates in a report.

use overt::measure::{Rate, Rates};
use serde::Serialize;
use std::fmt::Write;

/// The rates that times are held against.
#[derive(Serialize)]
pub struct RatesReport {
    pub memory: RateReport,
    pub f32: RateReport,
    pub bf16: RateReport,
    pub int8: RateReport,
}

/// One rate, or why there is none.
#[derive(Serialize)]
pub struct RateReport {
    /// Bytes or operations.
    pub per_second: Option<f64>,
    pub kernel: Option<String>,
    pub why: Option<String>,
}

impl RatesReport {
    pub fn of(rates: &Rates) -> RatesReport {
        let report = |rate: &Result<Rate, String>| match rate {
            Ok(rate) => RateReport {
                per_second: Some(rate.per_second),
                kernel: Some(rate.kernel.clone()),
                why: None,
            },
            Err(why) => RateReport {
                per_second: None,
                kernel: None,
                why: Some(why.clone()),
            },
        };
        RatesReport {
            memory: report(&rates.memory),
            f32: report(&rates.f32),
            bf16: report(&rates.bf16),
            int8: report(&rates.int8),
        }
    }

    pub fn text(&self, t: &mut String) {
        let _ = writeln!(t, "\nrates of the device, measured first:");
        for (name, unit, rate) in [
            ("memory, read", "GB/s", &self.memory),
            ("f32 multiply-adds", "GFLOP/s", &self.f32),
            ("bf16 products", "GFLOP/s", &self.bf16),
            ("int8 products", "Gop/s", &self.int8),
        ] {
            let _ = match (rate.per_second, &rate.kernel, &rate.why) {
                (Some(rate), Some(kernel), _) => {
                    writeln!(t, "  {name}: {:.1} {unit} ({kernel})", rate / 1e9)
                }
                (_, _, Some(why)) => writeln!(
                    t,
                    "  {name}: none; {}",
                    why.lines().next().unwrap_or_default()
                ),
                _ => Ok(()),
            };
        }
    }
}

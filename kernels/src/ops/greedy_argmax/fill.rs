//! Seeded contents.

use crate::host::HostCall;
use crate::ops::support::Random;

/// Kinds of rows: any numbers; few different ones, so that the greatest stands several times; all equal; −∞ alone; NaN alone; many
/// NaN and −∞ among negative numbers; the greatest last; +∞ among NaN.
const KINDS: u64 = 8;

pub(super) fn fill(call: &mut HostCall, seed: u64) {
    let width = call.symbol("V").unwrap_or(1).max(1) as u64;
    let mut random = Random::new(seed, 0);
    let mut flat = 0u64;
    if let Some(logits) = call.operand_mut("logits") {
        logits
            .fill_with(|| {
                let (row, column) = (flat / width, flat % width);
                flat += 1;
                let value = random.signed();
                match (row.wrapping_add(seed)) % KINDS {
                    1 => (value * 4.0).round() / 4.0,
                    2 => -2.5,
                    3 => f64::NEG_INFINITY,
                    4 => f64::NAN,
                    5 if value > 0.3 => f64::NAN,
                    5 if value > -0.3 => f64::NEG_INFINITY,
                    5 => 50.0 * value,
                    6 if column + 1 == width => 9.0,
                    7 if value > 0.5 => f64::NAN,
                    7 if value < -0.9 => f64::INFINITY,
                    // Both zeros are equal.
                    0 if column % 7 == 3 => -0.0,
                    0 if column % 7 == 5 => 0.0,
                    0 => -8.0 * value.abs() * f64::from(u8::from(column % 2 == 0)),
                    _ => 8.0 * value,
                }
            })
            .unwrap_or_else(|e| panic!("operand `logits`: {e}"));
    }
}

//! Seeded contents.

use crate::host::HostCall;
use crate::ops::support::{Random, f64_attr};

/// Rows of different spread; some rows are all equal. Where the scale is positive, some elements, and now and then whole rows,
/// are −∞.
const AMPLITUDES: [f64; 5] = [1.0, 20.0, 0.01, 5.0, 90.0];

pub(super) fn fill(call: &mut HostCall, seed: u64) {
    let width = call.symbol("D").unwrap_or(1).max(1) as u64;
    let masked = f64_attr(call, "scale") > 0.0;
    let mut random = Random::new(seed, 0);
    let mut flat = 0;
    if let Some(x) = call.operand_mut("x") {
        x.fill_with(|| {
            let (row, column) = (flat / width, flat % width);
            flat += 1;
            let value = random.signed() * AMPLITUDES[row as usize % AMPLITUDES.len()];
            match row % 11 {
                5 if masked => f64::NEG_INFINITY,
                6 => 3.0,
                _ if masked && row % 3 == 1 && column % 5 == 2 => f64::NEG_INFINITY,
                _ => value,
            }
        })
        .unwrap_or_else(|e| panic!("operand `x`: {e}"));
    }
}

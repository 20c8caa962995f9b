//! Seeded contents.

use crate::host::HostCall;
use crate::ops::support::{Random, fill_uniform};

/// Rows of different sizes, so that eps matters in some and the sum is large in others; now and then a row of zeros.
const AMPLITUDES: [f64; 4] = [1.0, 0.01, 30.0, 0.3];

pub(super) fn fill(call: &mut HostCall, seed: u64) {
    fill_uniform(call, "weight", seed, 0.0, 1.5);
    let width = call.symbol("D").unwrap_or(1).max(1) as u64;
    let mut random = Random::new(seed, 0);
    let mut flat = 0;
    if let Some(x) = call.operand_mut("x") {
        x.fill_with(|| {
            let row = (flat / width) as usize;
            flat += 1;
            let value = random.signed() * AMPLITUDES[row % AMPLITUDES.len()];
            if row % 11 == 5 { 0.0 } else { value }
        })
        .unwrap_or_else(|e| panic!("operand `x`: {e}"));
    }
}

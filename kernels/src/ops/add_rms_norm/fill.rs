//! Seeded contents.

use crate::host::HostCall;
use crate::ops::support::{Random, fill_uniform};

/// Rows of different sizes, so that eps matters in some and the sum is large in others; now and then a row whose sum is zero.
const AMPLITUDES: [f64; 4] = [1.0, 0.01, 30.0, 0.3];
/// All numbers are multiples of this one, so that every sum is exact in f32 and how the residual is rounded does not depend on
/// whether the sum was rounded to f32 before.
const GRID: f64 = 1.0 / 4096.0;

pub(super) fn fill(call: &mut HostCall, seed: u64) {
    fill_uniform(call, "weight", seed, 0.0, 1.5);
    let width = call.symbol("D").unwrap_or(1).max(1) as u64;
    for (name, stream) in [("x", 0), ("residual", 1)] {
        let mut random = Random::new(seed, stream);
        let mut flat = 0;
        if let Some(tensor) = call.operand_mut(name) {
            tensor
                .fill_with(|| {
                    let row = (flat / width) as usize;
                    flat += 1;
                    let value = random.signed() * AMPLITUDES[row % AMPLITUDES.len()];
                    if row % 11 == 5 {
                        0.0
                    } else {
                        (value / GRID).round() * GRID
                    }
                })
                .unwrap_or_else(|e| panic!("operand `{name}`: {e}"));
        }
    }
}

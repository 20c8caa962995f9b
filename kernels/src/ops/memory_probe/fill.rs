//! Seeded contents.

use crate::host::HostCall;
use crate::ops::support::Random;

/// Whole numbers from -2 to 2, whose sums are exact in f32 in any order.
pub(super) fn fill(call: &mut HostCall, seed: u64) {
    let mut random = Random::new(seed, 0);
    if let Some(x) = call.operand_mut("x") {
        x.fill_with(|| random.below(5) as f64 - 2.0)
            .unwrap_or_else(|e| panic!("operand `x`: {e}"));
    }
}

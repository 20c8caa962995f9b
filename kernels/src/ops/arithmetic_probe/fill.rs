//! Seeded contents.

use crate::host::HostCall;
use crate::ops::support::Random;

/// -1, 0 and 1, whose sums are exact in every type.
pub(super) fn fill(call: &mut HostCall, seed: u64) {
    for (stream, name) in [(0, "a"), (1, "b")] {
        let mut random = Random::new(seed, stream);
        if let Some(tensor) = call.operand_mut(name) {
            tensor
                .fill_with(|| random.below(3) as f64 - 1.0)
                .unwrap_or_else(|e| panic!("operand `{name}`: {e}"));
        }
    }
}

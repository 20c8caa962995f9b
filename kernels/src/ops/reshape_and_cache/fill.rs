//! Seeded contents.

use crate::host::HostCall;
use crate::ops::support::{Random, Walk, fill_uniform, symbol};

/// Slots are distinct and scattered; about one token in five is skipped, and so are all for which no slot is left. The caches
/// hold finite numbers, so that one that is overwritten by mistake shows.
pub(super) fn fill(call: &mut HostCall, seed: u64) {
    fill_uniform(call, "key", seed, 0.0, 4.0);
    fill_uniform(call, "value", seed, 0.0, 4.0);
    fill_uniform(call, "k_cache", seed, 0.0, 4.0);
    fill_uniform(call, "v_cache", seed, 0.0, 4.0);
    let tokens = symbol(call, "T");
    let total = symbol(call, "N") as u64 * symbol(call, "P") as u64;
    let mut random = Random::new(seed, 100);
    let mut walk = (total > 0).then(|| Walk::new(&mut random, total));
    let mut left = total;
    if let Some(slots) = call.operand_mut("slots") {
        for t in 0..tokens {
            let skipped = t % 5 == 3;
            let slot = match &mut walk {
                Some(walk) if left > 0 && !skipped => {
                    left -= 1;
                    walk.take() as i64
                }
                // Any negative number skips, not only -1.
                _ if t % 2 == 0 => i64::MIN,
                _ => -1,
            };
            slots
                .set_i64(&[t], slot)
                .unwrap_or_else(|e| panic!("operand `slots`: {e}"));
        }
    }
}

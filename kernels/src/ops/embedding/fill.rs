//! Seeded contents.

use crate::host::HostCall;
use crate::ops::support::{Random, fill_uniform, symbol};

/// The first ids are the last row and the first, then any, with repetitions.
pub(super) fn fill(call: &mut HostCall, seed: u64) {
    fill_uniform(call, "table", seed, 0.0, 2.0);
    let (tokens, rows) = (symbol(call, "T"), symbol(call, "V"));
    let mut random = Random::new(seed, 1);
    if let Some(ids) = call.operand_mut("ids") {
        for t in 0..tokens {
            let id = match t {
                0 => rows - 1,
                1 => 0,
                _ => random.below(rows.max(1) as u64) as i64,
            };
            ids.set_i64(&[t], id)
                .unwrap_or_else(|e| panic!("operand `ids`: {e}"));
        }
    }
}

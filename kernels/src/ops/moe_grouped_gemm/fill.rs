//! Seeded contents.

use crate::host::HostCall;
use crate::ops::matmul_bt::{centre, fill_activations, fill_scales, fill_weight};
use crate::ops::support::{Random, fill_uniform, symbol};

/// Experts of a token are distinct where there are enough, and a few take most tokens, so that some have many rows and others
/// none. About one slot in nine has no expert.
pub(super) fn fill(call: &mut HostCall, seed: u64) {
    let centre = centre(call);
    fill_activations(call, seed, centre);
    fill_weight(call, seed, centre);
    fill_scales(call, seed);
    fill_uniform(call, "bias", seed, 0.0, 2.0);
    let (tokens, slots) = (symbol(call, "T"), symbol(call, "S"));
    let experts = symbol(call, "E").max(0) as u64;
    let mut random = Random::new(seed, 100);
    let Some(chosen) = call.operand_mut("experts") else {
        return;
    };
    for t in 0..tokens {
        let mut taken: Vec<u64> = Vec::new();
        for s in 0..slots {
            let expert = if experts == 0 || random.below(9) == 4 {
                // Any negative number means none, not only -1.
                if s % 2 == 0 { -1 } else { i64::from(i32::MIN) }
            } else {
                // The lesser of two: low numbers are the busy ones.
                let mut expert = random.below(experts).min(random.below(experts));
                while taken.contains(&expert) && (taken.len() as u64) < experts {
                    expert = (expert + 1) % experts;
                }
                taken.push(expert);
                expert as i64
            };
            chosen
                .set_i64(&[t, s], expert)
                .unwrap_or_else(|e| panic!("operand `experts`: {e}"));
        }
    }
}

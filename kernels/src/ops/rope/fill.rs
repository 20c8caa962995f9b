//! Seeded contents.

use super::frequencies::{Scaling, inv_freq};
use crate::host::HostCall;
use crate::ops::support::{Random, fill_uniform, symbol};

/// Near the start, at usual lengths, and so far that an angle in f32 would be wrong altogether. The last but one is the greatest
/// whose angles 53 bits hold exactly for every f32 frequency.
const POSITIONS: [i64; 9] = [
    0,
    1,
    131_071,
    4095,
    7,
    1_000_003,
    2048,
    (1 << 29) - 1,
    i32::MAX as i64,
];

const BASES: [f64; 3] = [10_000.0, 500_000.0, 1_000_000.0];

pub(super) fn fill(call: &mut HostCall, seed: u64) {
    fill_uniform(call, "x", seed, 0.0, 4.0);
    let (tokens, pairs) = (symbol(call, "T"), symbol(call, "F"));
    let mut random = Random::new(seed, 1);
    if let Some(positions) = call.operand_mut("positions") {
        for t in 0..tokens {
            let position = match POSITIONS.get(((t as u64 + seed) % 13) as usize) {
                Some(&position) => position,
                None => random.below(40_000) as i64,
            };
            positions
                .set_i64(&[t], position)
                .unwrap_or_else(|e| panic!("operand `positions`: {e}"));
        }
    }
    let base = BASES[(seed % 3) as usize];
    let frequencies = inv_freq(base, 2 * pairs as usize, &Scaling::None)
        .unwrap_or_else(|e| panic!("a base of {base}: {e}"));
    if let Some(operand) = call.operand_mut("inv_freq") {
        for (i, frequency) in (0..).zip(frequencies) {
            operand
                .set_f64(&[i], f64::from(frequency))
                .unwrap_or_else(|e| panic!("operand `inv_freq`: {e}"));
        }
    }
}

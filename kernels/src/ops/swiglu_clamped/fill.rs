//! Seeded contents.

use crate::host::HostCall;
use crate::ops::support::{Random, bool_attr};

/// Far and near of the usual limits, on both sides.
const GATES: [f64; 6] = [-60.0, 50.0, 7.0, -7.5, 0.0, 7.03125];
const UPS: [f64; 6] = [-50.0, 50.0, -1.0, -7.03125, 7.0, 0.0];

pub(super) fn fill(call: &mut HostCall, seed: u64) {
    let width = call.symbol("D2").unwrap_or(1).max(1) as u64;
    let interleaved = bool_attr(call, "interleaved");
    let mut random = Random::new(seed, 0);
    let mut flat = 0u64;
    if let Some(x) = call.operand_mut("x") {
        x.fill_with(|| {
            let (row, column) = (flat / width, flat % width);
            flat += 1;
            let value = random.signed();
            let (gate, place) = if interleaved {
                (column % 2 == 0, column / 2)
            } else {
                (column < width / 2, column % (width / 2).max(1))
            };
            let (step, size) = (row + place, GATES.len());
            match (gate, step % 13) {
                (true, 4) => GATES[(step / 13) as usize % size],
                (false, 6) => UPS[(step / 13) as usize % size],
                _ => 9.0 * value,
            }
        })
        .unwrap_or_else(|e| panic!("operand `x`: {e}"));
    }
}

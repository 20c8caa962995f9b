//! Seeded contents.

use crate::dtype;
use crate::host::HostCall;
use crate::ops::support::{Random, bool_attr, fill_uniform};

/// Rows of fewer columns than this get terms of mostly one sign. The tolerance is a share of a row's root mean square, and a
/// row of one sum that happens to cancel would allow nothing.
const NARROW: i64 = 8;

/// Groups that a block format gives a scale of its own are no shorter.
const GROUP: u64 = 16;

pub(super) fn fill(call: &mut HostCall, seed: u64) {
    let centre = centre(call);
    fill_activations(call, seed, centre);
    fill_weight(call, seed, centre);
    fill_scales(call, seed);
    fill_uniform(call, "bias", seed, 0.0, 2.0);
}

/// Around what the operands of a product lie.
pub(crate) fn centre(call: &HostCall) -> f64 {
    if call.symbol("N").unwrap_or(0) < NARROW {
        0.25
    } else {
        0.0
    }
}

/// Activations in [-1, 1) around a centre. Where they will be rounded, rows differ in size by powers of two and some begin with a
/// block of zeros, so that a scale taken from another block or row shows.
pub(crate) fn fill_activations(call: &mut HostCall, seed: u64, centre: f64) {
    fill_uniform(call, "a", seed, centre, 1.0);
    if !bool_attr(call, "int8_activations") {
        return;
    }
    let Some(a) = call.operand_mut("a") else {
        return;
    };
    let values = a.to_f64().unwrap_or_else(|e| panic!("operand `a`: {e}"));
    let depth = a.shape.last().map_or(1, |&k| k.max(1) as usize);
    let mut next = values.iter().enumerate();
    a.fill_with(|| {
        let (i, value) = next.next().expect("as many as were read");
        let (row, column) = (i / depth, i % depth);
        if row % 3 == 1 && column < 32 && depth > 32 {
            0.0
        } else {
            value * 2f64.powi((column / 32 + row) as i32 % 4)
        }
    })
    .unwrap_or_else(|e| panic!("operand `a`: {e}"));
}

/// Weights in [-1, 1) around a centre. In the formats of 256 elements groups differ in size, so that all codes of their scales
/// occur.
pub(crate) fn fill_weight(call: &mut HostCall, seed: u64, centre: f64) {
    let stream = call.schema.operand("b").map_or(0, |n| n as u64);
    let mut random = Random::new(seed, stream);
    let Some(b) = call.operand_mut("b") else {
        return;
    };
    let grouped = dtype::block(b.dtype).is_some_and(|block| block.elements > 32);
    let (mut i, mut size) = (0, 1.0);
    b.fill_with(|| {
        if grouped && i % GROUP == 0 {
            size = (1 + random.below(64)) as f64 / 64.0;
        }
        i += 1;
        centre + size * random.signed()
    })
    .unwrap_or_else(|e| panic!("operand `b`: {e}"));
}

/// Scales between 0.5 and 1.5, so that a wrong one shows and none makes its terms vanish.
pub(crate) fn fill_scales(call: &mut HostCall, seed: u64) {
    fill_uniform(call, "b_scale", seed, 1.0, 0.5);
}

//! What kernels share that go over rows in chunks, as `kernels/device/glsl/chunks.glsl` and `rows.glsl` have it.

use overt_sdk::declare::Clause;
use overt_sdk::declare::words::*;

/// Neighbours that an invocation takes at once: 16 bytes of 16-bit elements.
const CHUNK: i64 = 8;

/// Invocations of a block that shares nothing. Two subgroups of 32, so that a single row of some thousand elements goes to many cores.
pub const BLOCK: u32 = 64;

/// The most lanes of a row: the most invocations of a block that house rules allow.
const MOST_LANES: i64 = 256;

/// Chunks of a row.
pub fn chunks(columns: i64) -> i64 {
    columns.div_euclid(CHUNK) + i64::from(columns.rem_euclid(CHUNK) > 0)
}

/// Blocks of so many invocations for so many.
pub fn blocks(invocations: i64, block: u32) -> i64 {
    let block = i64::from(block);
    invocations.div_euclid(block) + i64::from(invocations.rem_euclid(block) > 0)
}

/// Lanes of a row of this width: a chunk for each, if there are so many. Of the width alone, since they decide the order of a sum.
pub fn lanes(columns: i64) -> u32 {
    let chunks = chunks(columns).clamp(1, MOST_LANES);
    (chunks as u32).next_power_of_two()
}

/// Invocations of a block of rows with so many lanes each.
pub fn block(lanes: u32) -> u32 {
    lanes.max(BLOCK)
}

/// What shaders with `rows.glsl` ask of the device.
pub fn clauses() -> Vec<Clause> {
    vec![
        fact("device.subgroup.arithmetic")
            .is(true)
            .source("sums over subgroups"),
        fact("device.limit.invocations")
            .at_least(MOST_LANES)
            .source("lanes of a wide row"),
        fact("device.limit.shared_bytes")
            .at_least(1024)
            .source("a sum for each subgroup"),
    ]
}

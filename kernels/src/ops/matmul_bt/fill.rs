//! Seeded contents.

use crate::host::HostCall;
use crate::ops::support::fill_uniform;

/// Rows of fewer columns than this get terms of mostly one sign. The tolerance is a share of a row's root mean square, and a
/// row of one sum that happens to cancel would allow nothing.
const NARROW: i64 = 8;

pub(super) fn fill(call: &mut HostCall, seed: u64) {
    let centre = if call.symbol("N").unwrap_or(0) < NARROW {
        0.25
    } else {
        0.0
    };
    fill_uniform(call, "a", seed, centre, 1.0);
    fill_uniform(call, "b", seed, centre, 1.0);
    fill_uniform(call, "bias", seed, 0.0, 2.0);
}

//! Seeded contents.

use crate::host::HostCall;
use crate::ops::support::{fill_uniform, symbol};

/// Rows of fewer elements get terms of one sign. The tolerance is a share of a row's root mean square, and a row of one sum that
/// happens to cancel would allow nothing.
const NARROW: i64 = 8;

pub(super) fn fill(call: &mut HostCall, seed: u64) {
    let centre = if symbol(call, "D") < NARROW { 2.0 } else { 0.0 };
    fill_uniform(call, "x", seed, centre, 2.0);
    fill_uniform(call, "weights", seed, 0.5, 0.5);
    fill_uniform(call, "shared", seed, centre, 2.0);
}

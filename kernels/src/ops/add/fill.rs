//! Seeded contents.

use crate::host::HostCall;
use crate::ops::support::fill_uniform;

pub(super) fn fill(call: &mut HostCall, seed: u64) {
    fill_uniform(call, "a", seed, 0.0, 4.0);
    fill_uniform(call, "b", seed, 0.0, 4.0);
}

//! For this crate's own benchmarks: what cannot be timed from outside.

use crate::Call;
use crate::bind::Bound;
use crate::core::Runtime;
use crate::launch::{Plan, Stream};
use crate::registry::Device;

/// A closure that calls the provider's launch entry as a plan does, and nothing else.
pub fn bare_launch<'a>(plan: &'a Plan, stream: &'a Stream) -> impl Fn() + 'a {
    plan.bare(stream)
}

/// Binds and selects without a remembered selection; true when a kernel was found.
pub fn select_uncached(runtime: &Runtime, call: &Call<'_>, device: &Device) -> bool {
    let mut bound = Bound::new();
    call.op.0.binder.bind(call, &mut bound).is_ok()
        && runtime.0.select(call, &bound, device, false).is_ok()
}

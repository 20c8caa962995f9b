//! The right answer, before rounding to the cache's type.

use crate::host::HostCall;
use crate::op::Want;
use crate::ops::support::{View, symbol};
use std::collections::HashMap;

pub(super) fn oracle(call: &HostCall, output: usize, want: &Want) -> Vec<f64> {
    let cache = View::number(call, output);
    let is_key = call.schema.operand("k_cache") == Some(output);
    let source = View::of(call, if is_key { "key" } else { "value" });
    let slots = View::of(call, "slots");
    let token_of: HashMap<i64, i64> = (0..symbol(call, "T"))
        .map(|t| (slots.integer(&[t]), t))
        .collect();
    let [_, page, heads, width] = [0, 1, 2, 3].map(|d| cache.shape[d] as u64);
    want.indices(cache.len())
        .map(|flat| {
            let d = (flat % width) as i64;
            let h = (flat / width % heads) as i64;
            let position = flat / width / heads;
            match token_of.get(&(position as i64)) {
                Some(&t) => source.at(&[t, h, d]),
                None => cache.at(&[(position / page) as i64, (position % page) as i64, h, d]),
            }
        })
        .collect()
}

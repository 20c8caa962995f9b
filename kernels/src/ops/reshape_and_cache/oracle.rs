//! The right answer, before rounding to the cache's type.

use crate::dtype::{FP8_E4M3FN, FP8_E5M2};
use crate::host::HostCall;
use crate::op::Want;
use crate::ops::support::{View, f64_attr, output_dtype, symbol};
use std::collections::HashMap;

pub(super) fn oracle(call: &HostCall, output: usize, want: &Want) -> Vec<f64> {
    let cache = View::number(call, output);
    let is_key = call.schema.operand("k_cache") == Some(output);
    let (source, scale) = if is_key {
        (View::of(call, "key"), f64_attr(call, "k_scale"))
    } else {
        (View::of(call, "value"), f64_attr(call, "v_scale"))
    };
    let largest = match output_dtype(call, output) {
        FP8_E4M3FN => 448.0,
        FP8_E5M2 => 57344.0,
        _ => f64::INFINITY,
    };
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
                Some(&t) => {
                    let value = source.at(&[t, h, d]) / scale;
                    // An infinity is none of the numbers that are too large.
                    if value.is_finite() {
                        value.clamp(-largest, largest)
                    } else {
                        value
                    }
                }
                None => cache.at(&[(position / page) as i64, (position % page) as i64, h, d]),
            }
        })
        .collect()
}

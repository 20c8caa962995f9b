//! Least work of a call.

use super::problem::{Mask, requests};
use crate::host::HostCall;
use crate::op::Work;
use crate::ops::support::{bytes, operand_bytes, symbol};

/// Each query, output, length and used table entry once; each key and value that some query of its request sees once for each
/// key head; two products and sums for each visible pair of query and key, per head. The softmax itself is not counted.
pub(super) fn work(call: &HostCall) -> Work {
    let mask = Mask::of(call);
    let (width, value_width) = (symbol(call, "D") as u64, symbol(call, "Dv") as u64);
    let (heads, kv_heads) = (symbol(call, "Hq") as f64, symbol(call, "Hkv") as u64);
    let page = symbol(call, "P");
    let (mut pairs, mut keys, mut entries) = (0i64, 0i64, 0i64);
    for request in requests(call) {
        let mut seen: Option<(i64, i64)> = None;
        for t in request.first_row..request.first_row + request.q_len {
            let visible = mask.visible(request.position(t), request.seq_len);
            if visible.is_empty() {
                continue;
            }
            pairs += visible.end - visible.start;
            // Ranges of neighbouring queries overlap or touch, so their union is one range.
            seen = Some(match seen {
                None => (visible.start, visible.end),
                Some((first, end)) => (first.min(visible.start), end.max(visible.end)),
            });
        }
        if let Some((first, end)) = seen {
            keys += end - first;
            entries += (end - 1) / page - first / page + 1;
        }
    }
    let cache = |name: &str, width: u64| {
        call.operand(name)
            .map_or(0.0, |t| bytes(t.dtype, keys as u64 * kv_heads * width))
    };
    let small: f64 = ["query", "seq_lens", "query_start", "sinks", "out"]
        .into_iter()
        .map(|name| operand_bytes(call, name))
        .sum();
    Work {
        bytes: small
            + 4.0 * entries as f64
            + cache("k_cache", width)
            + cache("v_cache", value_width),
        flops: 2.0 * pairs as f64 * heads * (width + value_width) as f64,
    }
}

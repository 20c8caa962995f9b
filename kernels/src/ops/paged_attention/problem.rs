//! One call taken apart: lengths, positions, visible keys.

use crate::host::HostCall;
use crate::ops::support::{View, bool_attr, i64_attr, symbol};
use std::ops::Range;

/// One request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub first_row: i64,
    pub q_len: i64,
    pub seq_len: i64,
}

impl Request {
    /// Position of query row `t` of the call.
    pub fn position(&self, t: i64) -> i64 {
        self.seq_len - self.q_len + (t - self.first_row)
    }
}

/// Which keys a query sees.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mask {
    pub causal: bool,
    pub window: i64,
}

impl Mask {
    pub fn of(call: &HostCall) -> Self {
        Mask {
            causal: bool_attr(call, "causal"),
            window: i64_attr(call, "window"),
        }
    }

    /// The visible keys of a query at `position`: one range, empty when it sees none.
    pub fn visible(&self, position: i64, seq_len: i64) -> Range<i64> {
        let mut first = 0;
        let mut end = if self.causal {
            position.saturating_add(1)
        } else {
            seq_len
        };
        if self.window > 0 {
            first = position.saturating_sub(self.window).saturating_add(1);
            end = end.min(position.saturating_add(self.window));
        }
        let end = end.clamp(0, seq_len.max(0));
        first.clamp(0, end)..end
    }
}

/// The requests of a call, from the contents of `query_start` and `seq_lens`.
pub(super) fn requests(call: &HostCall) -> Vec<Request> {
    let (start, lens) = (View::of(call, "query_start"), View::of(call, "seq_lens"));
    (0..symbol(call, "R"))
        .map(|r| {
            let first_row = start.integer(&[r]);
            Request {
                first_row,
                q_len: start.integer(&[r + 1]) - first_row,
                seq_len: lens.integer(&[r]),
            }
        })
        .collect()
}

//! The right answer: each row's softmax once, in f64, in two passes over the visible keys.

use super::problem::{Mask, requests};
use crate::host::HostCall;
use crate::op::Want;
use crate::ops::support::{View, f64_attr, symbol};

pub(super) fn oracle(call: &HostCall, output: usize, want: &Want) -> Vec<f64> {
    let rows = Rows::of(call);
    let out = View::number(call, output);
    let (heads, width) = (out.shape[1] as u64, out.shape[2] as u64);
    let mut current = None;
    let mut row = Vec::new();
    want.indices(out.len())
        .map(|flat| {
            let d = flat % width;
            let h = (flat / width % heads) as i64;
            let t = (flat / width / heads) as i64;
            if current != Some((t, h)) {
                row = rows.output(t, h);
                current = Some((t, h));
            }
            row[d as usize]
        })
        .collect()
}

/// Weight of one key, and where it lies.
struct Weighted {
    page: i64,
    within: i64,
    weight: f64,
}

struct Rows<'a> {
    query: View<'a>,
    keys: View<'a>,
    values: View<'a>,
    table: View<'a>,
    sinks: Option<View<'a>>,
    /// Request of each query row.
    owner: Vec<Option<usize>>,
    requests: Vec<super::problem::Request>,
    mask: Mask,
    /// The scale of logits times that of keys.
    scale: f64,
    v_scale: f64,
    softcap: f64,
    page: i64,
    ratio: i64,
}

impl<'a> Rows<'a> {
    fn of(call: &'a HostCall) -> Self {
        let requests = requests(call);
        let mut owner = vec![None; symbol(call, "T") as usize];
        for (r, request) in requests.iter().enumerate() {
            for t in request.first_row..request.first_row + request.q_len {
                if let Some(slot) = usize::try_from(t).ok().and_then(|t| owner.get_mut(t)) {
                    *slot = Some(r);
                }
            }
        }
        Rows {
            query: View::of(call, "query"),
            keys: View::of(call, "k_cache"),
            values: View::of(call, "v_cache"),
            table: View::of(call, "block_table"),
            sinks: View::optional(call, "sinks"),
            owner,
            requests,
            mask: Mask::of(call),
            scale: f64_attr(call, "scale") * f64_attr(call, "k_scale"),
            v_scale: f64_attr(call, "v_scale"),
            softcap: f64_attr(call, "softcap"),
            page: symbol(call, "P"),
            ratio: symbol(call, "gqa_ratio"),
        }
    }

    /// The softmax of row `t`, head `h` over its visible keys. A row of no request breaks the rules on contents; it has no keys
    /// and so gives zeros.
    fn weights(&self, t: i64, h: i64) -> Vec<Weighted> {
        let Some(r) = self.owner[t as usize] else {
            return Vec::new();
        };
        let request = self.requests[r];
        let visible = self.mask.visible(request.position(t), request.seq_len);
        let width = self.keys.shape[3] as usize;
        let (mut query, mut key) = (vec![0.0; width], vec![0.0; width]);
        self.query.row(&[t, h], &mut query);
        let mut row: Vec<Weighted> = visible
            .map(|position| {
                let page = self.table.integer(&[r as i64, position / self.page]);
                let within = position % self.page;
                self.keys.row(&[page, within, h / self.ratio], &mut key);
                let dot: f64 = query.iter().zip(&key).map(|(q, k)| q * k).sum();
                Weighted {
                    page,
                    within,
                    weight: self.capped(self.scale * dot),
                }
            })
            .collect();
        let sink = self.sinks.as_ref().map(|s| s.at(&[h]));
        let greatest = row
            .iter()
            .map(|w| w.weight)
            .chain(sink)
            .fold(f64::NEG_INFINITY, f64::max);
        let mut total = sink.map_or(0.0, |s| (s - greatest).exp());
        for w in &mut row {
            w.weight = (w.weight - greatest).exp();
            total += w.weight;
        }
        for w in &mut row {
            w.weight /= total;
        }
        row
    }

    fn capped(&self, logit: f64) -> f64 {
        if self.softcap > 0.0 {
            self.softcap * (logit / self.softcap).tanh()
        } else {
            logit
        }
    }

    /// The sum of values, each with its weight, in the order of keys.
    fn output(&self, t: i64, h: i64) -> Vec<f64> {
        let mut sums = vec![0.0; self.values.shape[3] as usize];
        let mut value = sums.clone();
        for w in self.weights(t, h) {
            let index = [w.page, w.within, h / self.ratio];
            self.values.row(&index, &mut value);
            for (sum, v) in sums.iter_mut().zip(&value) {
                *sum += w.weight * self.v_scale * v;
            }
        }
        sums
    }
}

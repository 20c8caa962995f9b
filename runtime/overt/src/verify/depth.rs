//! How much of an output is compared.

use overt_kernels::host::{HostCall, HostTensor};
use overt_kernels::op::{Op, Want};
use std::collections::BTreeSet;

/// How much of an output is compared: everything up to a bound on the oracle's work, a seeded sample beyond it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Depth {
    /// Most oracle steps (a multiply-add, or an element written) of a call that is compared whole. A step takes 2 to 10 ns.
    pub most_steps: f64,
    /// Rows (of the last dimension) in a sample. The first and the last row are always among them.
    pub rows: u64,
    /// Elements of a row in a sample. The first and the last are always among them.
    pub per_row: u64,
}

impl Default for Depth {
    fn default() -> Depth {
        Depth {
            most_steps: 5e7,
            rows: 16,
            per_row: 256,
        }
    }
}

impl Depth {
    /// Everything is compared, however long it takes.
    pub fn whole() -> Depth {
        Depth {
            most_steps: f64::INFINITY,
            ..Depth::default()
        }
    }

    /// Which elements of output `output` are compared.
    pub(super) fn want(&self, op: &Op, call: &HostCall, output: &HostTensor, seed: u64) -> Want {
        let steps = ((op.work)(call).flops / 2.0).max(output.len() as f64);
        if steps <= self.most_steps || output.is_empty() {
            Want::All
        } else {
            Want::Elements(self.sample(&output.shape, seed))
        }
    }

    /// Flat indices, ascending.
    fn sample(&self, shape: &[i64], seed: u64) -> Vec<u64> {
        let width = shape.last().map_or(1, |&n| n as u64);
        let rows = shape.iter().map(|&n| n as u64).product::<u64>() / width;
        let mut state = seed;
        let picked = pick(rows, self.rows.max(2), &mut state);
        let mut out = Vec::new();
        for row in picked {
            let columns = pick(width, self.per_row.max(2), &mut state);
            out.extend(columns.into_iter().map(|c| row * width + c));
        }
        out
    }
}

/// Up to `count` of `0..n`, ends included.
fn pick(n: u64, count: u64, state: &mut u64) -> BTreeSet<u64> {
    if n <= count {
        return (0..n).collect();
    }
    let mut out = BTreeSet::from([0, n - 1]);
    while (out.len() as u64) < count {
        out.insert(next(state) % n);
    }
    out
}

/// SplitMix64: a fixed function, so that a seed names the same sample in every version. Quality does not matter here.
pub(super) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_ascending_bounded_seeded_and_holds_the_ends() {
        let depth = Depth::default();
        let sample = depth.sample(&[64, 49152], 7);
        assert!(sample.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(sample.len(), 16 * 256);
        assert_eq!(sample[0], 0);
        assert_eq!(*sample.last().unwrap(), 64 * 49152 - 1);
        assert_eq!(sample, depth.sample(&[64, 49152], 7));
        assert_ne!(sample, depth.sample(&[64, 49152], 8));
        assert_eq!(depth.sample(&[3, 5], 1).len(), 15);
    }
}

//! Weights of elements, and the draw among them.

use super::row::Memory;
use crate::simd::elem::Elem;
use crate::simd::lanes::Simd;
use crate::simd::rows::exp::exp_below;
use crate::simd::rows::largest::{BLOCK, some};

/// exp((x − greatest) / temperature); 1 where x is the greatest, an infinite one too, and 0 for NaN.
#[inline(always)]
fn weight<S: Simd>(s: S, x: S::V, greatest: S::V, temperature: S::V) -> S::V {
    // The bound comes second: it is what remains of a NaN.
    let x = s.max(x, s.splat(f32::NEG_INFINITY));
    let e = exp_below(s, s.div(s.sub(x, greatest), temperature));
    s.pick_less(x, greatest, e, s.splat(1.0))
}

/// Writes the weight of each element, and the sums of blocks; yields the sum of all: of blocks in f32, of these in f64.
///
/// # Safety
/// `width` elements are readable at `x`.
#[inline(always)]
pub unsafe fn weigh<S: Simd, X: Elem>(
    s: S,
    x: *const X,
    width: usize,
    greatest: f32,
    temperature: f32,
    memory: &mut Memory,
) -> f64 {
    let Memory {
        largest,
        weights,
        sums,
        ..
    } = memory;
    // What was there before does not matter: all is written.
    weights.resize(width, 0.0);
    sums.clear();
    // Below this weights are zero: -87.4 is where the exponential ends.
    let negligible = greatest + temperature * -88.0;
    let (greatest, temperature) = (s.splat(greatest), s.splat(temperature));
    let mut total = 0.0_f64;
    for ((to, largest), at) in weights
        .chunks_mut(BLOCK)
        .zip(largest)
        .zip((0..).step_by(BLOCK))
    {
        if *largest < negligible {
            to.fill(0.0);
            sums.push(0.0);
            continue;
        }
        let mut acc = s.splat(0.0);
        let mut done = 0;
        while done + S::LANES <= to.len() {
            // SAFETY: the vector lies in the block, here and in the row.
            unsafe {
                let v = X::load(s, x.add(at + done));
                let w = weight(s, v, greatest, temperature);
                s.store(to.as_mut_ptr().add(done), w);
                acc = s.add(acc, w);
            }
            done += S::LANES;
        }
        if done < to.len() {
            let head = s.head(to.len() - done);
            // SAFETY: the head's elements end with the row.
            unsafe {
                let p = to.as_mut_ptr().add(done);
                let v = X::load_head(s, x.add(at + done), head);
                s.store_head(p, weight(s, v, greatest, temperature), head);
                // Read again, since lanes behind the head may have got a weight.
                acc = s.add(acc, s.load_head(p, head));
            }
        }
        let sum = s.sum(acc);
        sums.push(sum);
        total += f64::from(sum);
    }
    total
}

/// Sums the blocks anew, after weights have changed.
#[inline(always)]
pub fn add_blocks<S: Simd>(s: S, memory: &mut Memory) {
    let Memory { weights, sums, .. } = memory;
    sums.clear();
    for block in weights.chunks(BLOCK) {
        let mut acc = s.splat(0.0);
        for part in block.chunks(S::LANES) {
            // SAFETY: the weights are those of the part.
            acc = s.add(acc, unsafe { some(s, part.as_ptr(), part.len()) });
        }
        sums.push(s.sum(acc));
    }
}

/// Replaces values by their weights.
#[inline(always)]
pub fn weigh_values<S: Simd>(s: S, greatest: f32, temperature: f32, values: &mut [f32]) {
    let (greatest, temperature) = (s.splat(greatest), s.splat(temperature));
    let mut at = 0;
    while at < values.len() {
        let head = s.head((values.len() - at).min(S::LANES));
        // SAFETY: the head's values end with the slice.
        unsafe {
            let p = values.as_mut_ptr().add(at);
            s.store_head(
                p,
                weight(s, s.load_head(p, head), greatest, temperature),
                head,
            );
        }
        at += S::LANES;
    }
}

/// The first element whose cumulative weight exceeds `uniform` times the sum of all weights: blocks by their sums, then the elements
/// of one block.
pub fn in_order(uniform: f64, memory: &Memory) -> Option<usize> {
    let Memory { weights, sums, .. } = memory;
    let wanted = uniform * sums.iter().copied().map(f64::from).sum::<f64>();
    let mut reached = 0.0_f64;
    for (i, (&sum, block)) in sums.iter().zip(weights.chunks(BLOCK)).enumerate() {
        if reached + f64::from(sum) > wanted {
            let drawn = block.iter().position(|&weight| {
                reached += f64::from(weight);
                reached > wanted
            });
            // A sum in another order may fall short by its rounding.
            let drawn = drawn.or_else(|| block.iter().rposition(|&weight| weight > 0.0));
            return drawn.map(|place| i * BLOCK + place);
        }
        reached += f64::from(sum);
    }
    weights.iter().rposition(|&weight| weight > 0.0)
}

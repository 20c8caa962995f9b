//! The element at which the order is cut, where what is kept is much.

use super::front::Key;
use super::row::Memory;
use crate::simd::elem::Elem;
use crate::simd::lanes::Simd;
use crate::simd::rows::largest::{BLOCK, some};

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub enum Measure {
    /// So many elements.
    Count(usize),
    /// So much weight.
    Weight(f64),
}

/// Bins between the greatest element and the least that has a weight. The one behind them takes all others.
const BINS: usize = 4096;

/// Sets to 0 the weights of all that stands behind the least front of the order that has the measure.
/// Elements of no weight are no part of the order here: whether they are kept changes nothing.
///
/// # Safety
/// `width` elements are readable at `x`, and there are as many weights; `greatest` is the greatest element, and not −∞.
#[inline(always)]
pub unsafe fn cut<S: Simd, X: Elem>(
    s: S,
    x: *const X,
    width: usize,
    greatest: f32,
    temperature: f32,
    measure: Measure,
    memory: &mut Memory,
) {
    let wanted = match measure {
        Measure::Count(count) => count as f64,
        Measure::Weight(weight) => weight,
    };
    let counted = matches!(measure, Measure::Count(_));
    let size = |weight: f32| match (counted, weight > 0.0) {
        (_, false) => 0.0,
        (true, true) => 1.0,
        (false, true) => weight,
    };
    // SAFETY: the caller's row.
    unsafe { number(s, x, width, greatest, temperature, memory) };
    // Four histograms by turns, since a sum cannot be added to before it is stored.
    let mut bins = vec![[0.0_f32; 4]; BINS + 1];
    for (bins_of, weights) in memory.bins.chunks(4).zip(memory.weights.chunks(4)) {
        for (i, (bin, weight)) in bins_of.iter().zip(weights).enumerate() {
            bins[*bin as usize][i] += size(*weight);
        }
    }
    let mut reached = 0.0_f64;
    // At least one element is kept, so an empty bin does not reach even nothing.
    let Some(bin) = bins.iter().position(|parts| {
        let part: f64 = parts.iter().copied().map(f64::from).sum();
        reached += part;
        let there = part > 0.0 && reached >= wanted;
        if there {
            reached -= part;
        }
        there
    }) else {
        return;
    };
    let Memory {
        keys,
        bins,
        weights,
        ..
    } = memory;
    keys.clear();
    for (at, (bins, weights)) in (0..)
        .step_by(BLOCK)
        .zip(bins.chunks(BLOCK).zip(weights.chunks_mut(BLOCK)))
    {
        for (i, (&here, weight)) in bins.iter().zip(weights).enumerate() {
            if here as usize == bin && *weight > 0.0 {
                // SAFETY: the element is one of the row.
                keys.push(Key::new(unsafe { element(s, x.add(at + i)) }, at + i));
            }
            // All of the bins behind go; of this one the rest goes below.
            *weight = if here as usize > bin { 0.0 } else { *weight };
        }
    }
    keys.sort_unstable();
    let last = keys.iter().position(|key| {
        reached += f64::from(size(weights[key.index() as usize]));
        reached >= wanted
    });
    // A sum in another order may fall short by its rounding; then all of the bin is kept.
    for key in keys.iter().skip(last.map_or(keys.len(), |last| last + 1)) {
        weights[key.index() as usize] = 0.0;
    }
}

/// Writes the bin of each element: 0 for the greatest.
///
/// # Safety
/// As for [`cut`].
#[inline(always)]
unsafe fn number<S: Simd, X: Elem>(
    s: S,
    x: *const X,
    width: usize,
    greatest: f32,
    temperature: f32,
    memory: &mut Memory,
) {
    // Weights are zero below; an infinite temperature or a greatest of +∞ leaves no range, and all is in one bin.
    let floor = (greatest + temperature * -88.0).max(f32::MIN);
    let mut least = s.splat(greatest);
    for at in (0..width).step_by(BLOCK) {
        let n = BLOCK.min(width - at);
        let mut done = 0;
        while done < n {
            let count = (n - done).min(S::LANES);
            // SAFETY: they are in the row. Lanes behind its end are 0, which may lower the least: the bins get wider.
            let v = unsafe { some(s, x.add(at + done), count) };
            least = s.min(s.max(s.splat(floor), v), least);
            done += S::LANES;
        }
    }
    let least = -s.largest(s.sub(s.splat(0.0), least));
    let range = greatest - least;
    let scale = if range > 0.0 && range.is_finite() {
        (BINS - 1) as f32 / range
    } else {
        0.0
    };
    memory.bins.resize(width, 0);
    let bins = &mut memory.bins;
    let (top, scale, end) = (s.splat(greatest), s.splat(scale), s.splat(BINS as f32));
    for at in (0..width).step_by(BLOCK) {
        let n = BLOCK.min(width - at);
        let mut words = [0_u32; BLOCK];
        let mut done = 0;
        while done < n {
            let count = (n - done).min(S::LANES);
            // SAFETY: they are in the row; the block's numbers have room for whole vectors.
            unsafe {
                let v = some(s, x.add(at + done), count);
                // The bound comes second, where it takes the place of a NaN: that of one, or of a product of infinity with 0.
                let place = s.mul(s.sub(top, v), scale);
                let place = s.min(place, end);
                s.store_words(words.as_mut_ptr().add(done).cast(), s.rounded(place));
            }
            done += S::LANES;
        }
        for (bin, word) in bins[at..at + n].iter_mut().zip(words) {
            *bin = word.min(BINS as u32) as u16;
        }
    }
}

/// One element as f32.
///
/// # Safety
/// It is readable.
#[inline(always)]
unsafe fn element<S: Simd, X: Elem>(s: S, x: *const X) -> f32 {
    let mut lanes = [0.0_f32; 16];
    // SAFETY: one element is read; sixteen floats hold a vector.
    unsafe { s.store(lanes.as_mut_ptr(), some(s, x, 1)) };
    lanes[0]
}

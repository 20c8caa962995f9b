//! One row: the order of the steps.

use super::front::{Key, front};
use super::limit::{Measure, cut};
use super::weights::{add_blocks, in_order, weigh, weigh_values};
use crate::simd::elem::Elem;
use crate::simd::lanes::Simd;
use crate::simd::rows::largest::{BLOCK, block, of_block};

/// How a row chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Not above 0: the greatest element.
    pub temperature: f32,
    /// Not above 0: no bound.
    pub top_k: i32,
    /// 1 and above: no bound.
    pub top_p: f32,
    /// Not above 0: no bound.
    pub min_p: f32,
    /// The draw, in 0..1.
    pub uniform: f64,
}

/// Memory that rows use one after the other.
#[derive(Default)]
pub struct Memory {
    /// The greatest element of each block.
    pub largest: Vec<f32>,
    /// Elements in front of the order.
    pub keys: Vec<Key>,
    /// Weights of the row's elements.
    pub weights: Vec<f32>,
    /// Weights of the elements in front.
    pub front: Vec<f32>,
    /// Sums of the weights of the row's blocks.
    pub sums: Vec<f32>,
    /// Places of elements in a histogram.
    pub bins: Vec<u16>,
}

/// Elements up to which looking through blocks for the front of the order beats a histogram over the row.
const FEW: usize = 512;

/// The token of a row; −1 where there is no number.
///
/// # Safety
/// `width` elements are readable at `x`.
#[inline(always)]
pub unsafe fn draw<S: Simd, X: Elem>(
    s: S,
    x: *const X,
    width: usize,
    choice: &Choice,
    memory: &mut Memory,
) -> i32 {
    memory.largest.clear();
    for at in (0..width).step_by(BLOCK) {
        // SAFETY: the block lies in the row.
        let here = unsafe { of_block(s, x.add(at), BLOCK.min(width - at)) };
        memory.largest.push(here);
    }
    let greatest = memory
        .largest
        .iter()
        .copied()
        .fold(f32::NEG_INFINITY, f32::max);
    // Written so that a NaN, which the op rules out, is greedy too.
    let warm = choice.temperature > 0.0;
    if !warm || greatest == f32::NEG_INFINITY {
        // SAFETY: as above.
        return unsafe { first_of(s, x, width, greatest, &memory.largest) };
    }
    let top_k = match choice.top_k {
        k if k > 0 && (k as usize) < width => k as usize,
        _ => width,
    };
    let bounded = choice.top_p < 1.0;
    if top_k <= FEW {
        // SAFETY: as above.
        unsafe { front(s, x, width, top_k, &memory.largest, &mut memory.keys) };
        weigh_keys(s, greatest, choice, memory);
        return of_front(choice, memory, None);
    }
    // SAFETY: as above.
    let total = unsafe { weigh(s, x, width, greatest, choice.temperature, memory) };
    if top_k == width && bounded {
        // Mostly a short front has the share that is asked for.
        for few in [64, FEW] {
            // SAFETY: as above.
            unsafe { front(s, x, width, few, &memory.largest, &mut memory.keys) };
            weigh_keys(s, greatest, choice, memory);
            let wanted = f64::from(choice.top_p) * total;
            let reached: f64 = memory.front.iter().copied().map(f64::from).sum();
            if reached >= wanted || memory.keys.len() < few {
                return of_front(choice, memory, Some(total));
            }
        }
    }
    let mut total = total;
    if top_k < width {
        let most = Measure::Count(top_k);
        // SAFETY: as above; there is a weight for each element.
        unsafe { cut(s, x, width, greatest, choice.temperature, most, memory) };
        add_blocks(s, memory);
        total = memory.sums.iter().copied().map(f64::from).sum();
    }
    if bounded {
        let share = Measure::Weight(f64::from(choice.top_p) * total);
        // SAFETY: as above.
        unsafe { cut(s, x, width, greatest, choice.temperature, share, memory) };
    }
    if choice.min_p > 0.0 {
        let least = choice.min_p.min(1.0);
        for weight in &mut memory.weights {
            *weight = if *weight < least { 0.0 } else { *weight };
        }
    }
    if top_k < width || bounded || choice.min_p > 0.0 {
        add_blocks(s, memory);
    }
    in_order(choice.uniform, memory).map_or(-1, |token| token as i32)
}

/// The first element that equals a number which the row holds, or −1.
///
/// # Safety
/// `width` elements are readable at `x`.
#[inline(always)]
unsafe fn first_of<S: Simd, X: Elem>(
    s: S,
    x: *const X,
    width: usize,
    value: f32,
    largest: &[f32],
) -> i32 {
    for (i, &here) in largest.iter().enumerate() {
        if here == value {
            let at = i * BLOCK;
            // SAFETY: the block lies in the row.
            let values = unsafe { block(s, x.add(at), BLOCK.min(width - at)) };
            if let Some(place) = values.iter().position(|&v| v == value) {
                return (at + place) as i32;
            }
        }
    }
    -1
}

/// The weights of the elements in front.
#[inline(always)]
fn weigh_keys<S: Simd>(s: S, greatest: f32, choice: &Choice, memory: &mut Memory) {
    memory.front.clear();
    memory.front.extend(memory.keys.iter().map(Key::value));
    weigh_values(s, greatest, choice.temperature, &mut memory.front);
}

/// The token of a front of the order whose weights are known. `total`: the weight of all that `top_p` is a share of; `None` for that
/// of the front itself.
fn of_front(choice: &Choice, memory: &mut Memory, total: Option<f64>) -> i32 {
    let Memory {
        keys,
        front: weights,
        ..
    } = memory;
    let sum = |weights: &[f32]| weights.iter().copied().map(f64::from).sum::<f64>();
    let mut count = keys.len();
    if choice.top_p < 1.0 {
        let wanted = f64::from(choice.top_p) * total.unwrap_or_else(|| sum(weights));
        let mut reached = 0.0;
        let last = weights.iter().position(|&weight| {
            reached += f64::from(weight);
            reached >= wanted
        });
        count = last.map_or(count, |last| last + 1);
    }
    if choice.min_p > 0.0 {
        // Weights fall along the order.
        let least = choice.min_p.min(1.0);
        count = weights[..count].partition_point(|&weight| weight >= least);
    }
    let mut kept: Vec<(u32, f32)> = keys[..count]
        .iter()
        .zip(&weights[..count])
        .map(|(key, weight)| (key.index(), *weight))
        .collect();
    kept.sort_unstable_by_key(|(index, _)| *index);
    let wanted = choice.uniform * sum(&weights[..count]);
    let mut reached = 0.0;
    let drawn = kept.iter().find(|(_, weight)| {
        reached += f64::from(*weight);
        reached > wanted
    });
    // The product can round up to the sum; the last that has any weight is meant then.
    drawn
        .or_else(|| kept.iter().rfind(|(_, weight)| *weight > 0.0))
        .map_or(-1, |(index, _)| *index as i32)
}

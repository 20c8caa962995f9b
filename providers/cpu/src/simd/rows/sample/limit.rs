//! The element at which the order is cut, where what is kept is much.

use super::front::Key;
use super::row::Memory;
use crate::simd::elem::Elem;
use crate::simd::lanes::Simd;
use crate::simd::rows::largest::{BLOCK, block};

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub enum Measure {
    /// So many elements.
    Count(usize),
    /// So much weight.
    Weight(f64),
}

/// Bits that a bin of the histogram stands for: sign, exponent and three bits of the fraction.
const BITS: u32 = 12;

/// The last element of the least front that has the measure, the end of the order where none has.
///
/// # Safety
/// `width` elements are readable at `x`, and there are as many weights.
#[inline(always)]
pub unsafe fn limit<S: Simd, X: Elem>(
    s: S,
    x: *const X,
    width: usize,
    measure: Measure,
    memory: &mut Memory,
) -> Key {
    let wanted = match measure {
        Measure::Count(count) => count as f64,
        Measure::Weight(weight) => weight,
    };
    let size = |weight: f32| match measure {
        Measure::Count(_) => 1.0,
        Measure::Weight(_) => f64::from(weight),
    };
    let mut bins = vec![0.0_f64; 1 << BITS];
    // SAFETY: the caller's row.
    unsafe {
        each(s, x, width, |key, at| {
            bins[key.bin(BITS)] += size(memory.weights[at]);
        });
    }
    let mut reached = 0.0;
    // At least one element is kept, so an empty bin does not reach even nothing.
    let Some(bin) = bins.iter().position(|&bin| {
        reached += bin;
        bin > 0.0 && reached >= wanted
    }) else {
        return Key::END;
    };
    reached -= bins[bin];
    memory.keys.clear();
    // SAFETY: the caller's row.
    unsafe {
        each(s, x, width, |key, _| {
            if key.bin(BITS) == bin {
                memory.keys.push(key);
            }
        });
    }
    memory.keys.sort_unstable();
    let last = memory.keys.iter().find(|key| {
        reached += size(memory.weights[key.index() as usize]);
        reached >= wanted
    });
    // A sum in another order may fall short by its rounding.
    last.or(memory.keys.last()).copied().unwrap_or(Key::END)
}

/// Calls `f` for every element that is a number.
///
/// # Safety
/// `width` elements are readable at `x`.
#[inline(always)]
unsafe fn each<S: Simd, X: Elem>(s: S, x: *const X, width: usize, mut f: impl FnMut(Key, usize)) {
    for at in (0..width).step_by(BLOCK) {
        // SAFETY: the block lies in the row.
        let values = unsafe { block(s, x.add(at), BLOCK.min(width - at)) };
        for (place, &value) in values.iter().enumerate() {
            if !value.is_nan() {
                f(Key::new(value, at + place), at + place);
            }
        }
    }
}

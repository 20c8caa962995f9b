//! The front of a row's order: its greatest elements, equal ones by index.

use crate::simd::elem::Elem;
use crate::simd::lanes::Simd;
use crate::simd::rows::largest::{BLOCK, block};

/// An element's place in the order: its value's bits, made to fall as the value rises, above its index. NaN has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u64);

impl Key {
    /// The key of an element, which is no NaN.
    #[inline(always)]
    pub fn new(value: f32, index: usize) -> Key {
        // A sum with +0 makes −0 equal to it.
        let bits = (value + 0.0).to_bits();
        let rising = if bits >> 31 == 0 {
            bits | 1 << 31
        } else {
            !bits
        };
        Key(u64::from(!rising) << 32 | index as u64)
    }

    /// The element's number in the row.
    pub fn index(&self) -> u32 {
        self.0 as u32
    }

    /// The element's value.
    pub fn value(&self) -> f32 {
        let rising = !((self.0 >> 32) as u32);
        f32::from_bits(if rising >> 31 == 1 {
            rising & !(1 << 31)
        } else {
            !rising
        })
    }
}

/// Writes the first `count` elements of the order, or all if there are fewer, in order. `largest` holds the greatest element of each
/// block.
///
/// # Safety
/// `width` elements are readable at `x`.
#[inline(always)]
pub unsafe fn front<S: Simd, X: Elem>(
    s: S,
    x: *const X,
    width: usize,
    count: usize,
    largest: &[f32],
    keys: &mut Vec<Key>,
) {
    // So many blocks hold an element of at least this value each, so none below it is in front.
    let mut least = f32::NEG_INFINITY;
    if count <= largest.len() && count > 0 {
        keys.clear();
        keys.extend(largest.iter().enumerate().map(|(i, &v)| Key::new(v, i)));
        least = keys.select_nth_unstable(count - 1).1.value();
    }
    keys.clear();
    for (i, &here) in largest.iter().enumerate() {
        // Of a block of NaN alone nothing is found, whatever stands for its greatest.
        if here < least {
            continue;
        }
        let at = i * BLOCK;
        // SAFETY: the block lies in the row.
        let values = unsafe { block(s, x.add(at), BLOCK.min(width - at)) };
        for (place, &value) in values.iter().enumerate() {
            if value >= least {
                keys.push(Key::new(value, at + place));
            }
        }
    }
    if count < keys.len() {
        if count > 0 {
            keys.select_nth_unstable(count - 1);
        }
        keys.truncate(count);
    }
    keys.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn keys_rise_as_values_fall_and_then_with_the_index() {
        let falling = [
            f32::INFINITY,
            f32::MAX,
            2.0,
            1.0,
            1e-45,
            0.0,
            -1e-45,
            -1.0,
            -2.0,
            f32::MIN,
            f32::NEG_INFINITY,
        ];
        for pair in falling.windows(2) {
            assert!(Key::new(pair[0], 9) < Key::new(pair[1], 3), "{pair:?}");
        }
        for value in falling {
            assert_eq!(Key::new(value, 7).value(), value);
            assert_eq!(Key::new(value, 7).index(), 7);
            assert!(Key::new(value, 7) < Key::new(value, 8));
        }
        assert_eq!(Key::new(-0.0, 1), Key::new(0.0, 1));
    }
}

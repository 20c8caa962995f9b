//! Plain types: one element after another.

use super::Stored;
use crate::simd::elem::Elem;
use crate::simd::lanes::Simd;
use half::{bf16, f16};

macro_rules! plain {
    ($($type:ty),+) => {$(
        impl Stored for $type {
            const ELEMENTS: usize = 1;
            const BYTES: usize = size_of::<$type>();
            #[inline(always)]
            unsafe fn lanes<S: Simd>(s: S, row: *const u8, at: usize) -> S::V {
                // SAFETY: the same contract.
                unsafe { Elem::load(s, row.cast::<$type>().add(at)) }
            }
            #[inline(always)]
            unsafe fn lanes_head<S: Simd>(s: S, row: *const u8, at: usize, n: usize) -> S::V {
                // SAFETY: the same contract.
                unsafe { Elem::load_head(s, row.cast::<$type>().add(at), s.head(n)) }
            }
        }
    )+};
}

plain!(f32, f16, bf16);

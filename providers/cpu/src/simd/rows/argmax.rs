//! The place of the greatest element.

use super::Rows;
use super::largest::{BLOCK, block, of_block};
use crate::simd::elem::{Elem, with_elem};
use crate::simd::lanes::{Simd, Task};
use crate::simd::{Isa, with_isa};
use core::marker::PhantomData;
use core::ops::Range;

/// Rows of `width`, an index for each.
#[derive(Clone, Copy, Debug)]
pub struct ArgmaxArgs {
    pub x: Rows,
    pub width: usize,
    pub out: *mut i32,
    pub out_stride: i64,
}

// SAFETY: addresses; whoever makes them vouches for the memory, and a body writes the rows of its own range alone.
unsafe impl Send for ArgmaxArgs {}
// SAFETY: as above.
unsafe impl Sync for ArgmaxArgs {}

/// Writes the least index of the greatest element of each row of a range, −1 where there is no number. Disjoint ranges may run at
/// once.
///
/// # Safety
/// The machine has `isa`. The rows are readable, the indices writable, all aligned to their elements.
pub unsafe fn argmax(isa: Isa, args: &ArgmaxArgs, rows: Range<usize>) {
    with_isa!(isa, s => argmax_on(s, args, rows));
}

pub(super) fn argmax_on<S: Simd>(s: S, args: &ArgmaxArgs, rows: Range<usize>) {
    with_elem!(args.x.ty, X => s.run(Greatest::<X> { args, rows, elem: PhantomData }));
}

struct Greatest<'a, X> {
    args: &'a ArgmaxArgs,
    rows: Range<usize>,
    elem: PhantomData<X>,
}

impl<X: Elem> Task for Greatest<'_, X> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for t in self.rows {
            // SAFETY: the row is readable and the index writable, by the contract of `argmax`.
            unsafe {
                let index = greatest(s, self.args.x.row::<X>(t), self.args.width);
                let at = t as isize * self.args.out_stride as isize;
                self.args.out.offset(at).write(index);
            }
        }
    }
}

/// # Safety
/// `width` elements are readable at `x`.
#[inline(always)]
unsafe fn greatest<S: Simd, X: Elem>(s: S, x: *const X, width: usize) -> i32 {
    // The first block that holds it; a block replaces an earlier one only by a greater number.
    let (mut best, mut first) = (f32::NEG_INFINITY, None);
    for at in (0..width).step_by(BLOCK) {
        // SAFETY: the block lies in the row.
        let here = unsafe { of_block(s, x.add(at), BLOCK.min(width - at)) };
        if here > best {
            (best, first) = (here, Some(at));
        }
    }
    // Where nothing is above −∞ the first −∞ is looked for everywhere.
    let start = first.unwrap_or(0);
    for at in (start..width).step_by(BLOCK) {
        // SAFETY: as above.
        let values = unsafe { block(s, x.add(at), BLOCK.min(width - at)) };
        if let Some(place) = values.iter().position(|&value| value == best) {
            return (at + place) as i32;
        }
    }
    -1
}

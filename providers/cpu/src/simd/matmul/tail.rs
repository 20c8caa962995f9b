//! The edges of `b`, where whole blocks would be read past the ends of rows or past the last row.

use super::MatmulArgs;
use super::panel::{Panels, STEPS, Words, bytes};

/// Most lanes of any instruction set.
pub const MOST_LANES: usize = 16;
/// Most bytes of one row that [`Panels::columns`] reads.
const MOST_BYTES: usize = STEPS * 4;

/// As [`Panels::columns`] for the rows of `b` from `row` on, as many as there are up to `end`, and their elements from `k` on,
/// as many as there are. The rest is zero.
///
/// # Safety
/// The rows are readable.
#[inline(always)]
pub unsafe fn columns<P: Panels, const TY: u8>(
    p: P,
    args: &MatmulArgs,
    row: usize,
    end: usize,
    k: usize,
) -> [Words<P>; STEPS] {
    let mut copy = [[0_u8; MOST_BYTES]; MOST_LANES];
    let elements = (args.k - k).min(STEPS * P::PER_WORD);
    for (row, to) in (row..end).zip(&mut copy) {
        // SAFETY: so many elements are readable, at most MOST_BYTES.
        unsafe {
            core::ptr::copy_nonoverlapping(
                args.b_row(row).wrapping_add(k * bytes(TY)),
                to.as_mut_ptr(),
                elements * bytes(TY),
            )
        }
    }
    // SAFETY: the copy has a block's bytes in each of its rows, of which there are as many as lanes.
    unsafe { p.columns::<TY>(copy.as_ptr().cast(), MOST_BYTES as isize) }
}

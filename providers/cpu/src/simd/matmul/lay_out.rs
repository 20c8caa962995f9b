//! Blocks of both operands laid out for register tiles.

use super::super::convert::decode;
use super::super::elem::ElemType;
use super::super::lanes::Simd;
use super::panel::{PanelTask, Panels, STEPS, bytes};
use super::{BLOCK, MatmulArgs, tail};
use core::ops::Range;

/// Words from one row of laid-out `a` to the next: a constant, so that all rows of a tile are reached from one pointer; a
/// cache line more than the block, so that they do not compete for the same places in the cache.
pub const fn a_stride<P: Panels>() -> usize {
    BLOCK / P::PER_WORD + 16
}

/// Lays out a block of `a`: rows of words, [`a_stride`] apart.
///
/// # Safety
/// The rows are the caller's of [`super::rows`].
pub unsafe fn lay_out_a<P: Panels>(
    p: P,
    args: &MatmulArgs,
    m: Range<usize>,
    at: usize,
    to: &mut [f32],
) {
    let depth = (args.k - at).min(BLOCK);
    for (row, to) in m.zip(to.chunks_mut(a_stride::<P>())) {
        let from = args.a_row(row).wrapping_add(at * args.a_type.bytes());
        // SAFETY: `depth` elements of the row are readable; a row of `to` holds a block's words.
        unsafe { convert_a(p, args.a_type, from, to.as_mut_ptr(), depth) };
    }
}

/// Lays out panels of `b`: step by step of *k*, two vectors of columns each. Holds the contract of [`super::rows`].
pub struct LayOutB<'a, const TY: u8> {
    pub args: &'a MatmulArgs,
    pub n: Range<usize>,
    pub k: Range<usize>,
    pub to: &'a mut [f32],
}

impl<const TY: u8> PanelTask for LayOutB<'_, TY> {
    #[inline(always)]
    fn run<P: Panels>(self, p: P) {
        let (s, lanes) = (p.simd(), P::S::LANES);
        let unit = STEPS * P::PER_WORD;
        let stride = self.args.b_stride as isize * bytes(TY) as isize;
        for (half, column) in self.n.clone().step_by(lanes).enumerate() {
            let panel = half / 2 * 2 * lanes * BLOCK / P::PER_WORD + half % 2 * lanes;
            let mut to = self.to[panel..].as_mut_ptr();
            let whole = column + lanes <= self.n.end;
            let b = self.args.b_row(column);
            let mut k = self.k.start;
            while k < self.k.end {
                // SAFETY: the elements lie inside the rows; a panel holds a block's words, rounded up to whole units.
                unsafe {
                    let words = if whole && self.k.end - k >= unit {
                        p.columns::<TY>(b.wrapping_add(k * bytes(TY)), stride)
                    } else {
                        tail::columns::<P, TY>(p, self.args, column, self.n.end, k)
                    };
                    for (step, words) in words.into_iter().enumerate() {
                        s.store(to.add(step * 2 * lanes), words);
                    }
                    to = to.wrapping_add(STEPS * 2 * lanes);
                }
                k += unit;
            }
        }
    }
}

/// Makes words of `n` elements of `a`. What is left of the last word, and of a vector, is zero.
///
/// # Safety
/// `n` elements of `ty` are readable at `from`; words rounded up to a whole vector are writable at `to`.
unsafe fn convert_a<P: Panels>(p: P, ty: ElemType, from: *const u8, to: *mut f32, n: usize) {
    if P::PER_WORD == 1 {
        // SAFETY: the caller's contract.
        unsafe { decode(p.simd(), ty, from, to, n, n.next_multiple_of(P::S::LANES)) }
        return;
    }
    // SAFETY: the caller's contract; a pair of bf16 is a word as it lies in memory.
    unsafe {
        core::ptr::copy_nonoverlapping(from, to.cast::<u8>(), n * 2);
        if !n.is_multiple_of(2) {
            to.cast::<u16>().add(n).write(0);
        }
    }
}

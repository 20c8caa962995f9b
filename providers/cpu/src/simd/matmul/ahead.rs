//! Asking for what of `b` is laid out next, while tiles are multiplied.

use super::tail::MOST_LANES;
use super::{BLOCK, MatmulArgs};
use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};

/// Bytes of a cache line.
const LINE: usize = 64;

/// Lines of `b` to ask for while tiles are multiplied: the panel after this one, a few lines with each tile.
#[derive(Clone, Copy)]
pub struct Ahead {
    b: *const u8,
    stride: isize,
    /// Lines in each row, the next one of this row, and lines in all that are left.
    row: usize,
    line: usize,
    left: usize,
    /// Lines with each row of a tile.
    share: usize,
}

impl Ahead {
    /// Of the panel at a row and element of `b`, over as many rows of `a`.
    #[inline]
    pub fn new(args: &MatmulArgs, at: Option<(usize, usize)>, rows: usize) -> Self {
        let size = args.b_type.bytes();
        let (b, stride) = (args.b_row(0), args.b_stride as isize * size as isize);
        let Some((row, k)) = at else {
            return Ahead {
                b,
                stride,
                row: 1,
                line: 0,
                left: 0,
                share: 0,
            };
        };
        let lines = ((args.k - k).min(BLOCK) * size).div_ceil(LINE);
        let left = lines * (args.n - row).min(2 * MOST_LANES);
        Ahead {
            b: args.b_row(row).wrapping_add(k * size),
            stride,
            row: lines.max(1),
            line: 0,
            left,
            share: left.div_ceil(rows),
        }
    }

    /// Asks for the share of so many rows of `a`.
    #[inline(always)]
    pub fn ask(&mut self, rows: usize) {
        for _ in 0..self.left.min(self.share * rows) {
            let p = self.b.wrapping_add(self.line * LINE);
            // SAFETY: memory may be asked for at any address.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
            self.line += 1;
            if self.line == self.row {
                self.line = 0;
                self.b = self.b.wrapping_offset(self.stride);
            }
            self.left -= 1;
        }
    }
}

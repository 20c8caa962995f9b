//! Panels: as many rows of a weight as there are lanes, interleaved so that vectors run across them.
//!
//! Word *w* of every row's block lies side by side, one lane for each row: a vector of words holds four neighbouring elements
//! of k for each column of the output, and no sum over lanes is ever needed. Scales lie side by side likewise. A panel is all
//! its quants, block after block, and then all its scales; it has exactly the bytes of its rows. Rows past the last one are
//! zero bytes, which decode to zero in every format.
//!
//! fp8 has no words and no scales: the bytes of all rows lie side by side for each element.
//!
//! The layout depends on the format and on the number of lanes alone.

mod blocks;
mod pack;
mod superblocks;

pub use pack::{pack_fp8, pack_panel, pack_rows};

use super::formats::{Format, Stored};
use crate::simd::lanes::Simd;

/// Rows of words in a block: where they begin in the stored block, and how many there are.
pub type Words = (usize, usize);

/// A block format as panels.
///
/// Element *k* of a block belongs to part *k* / 32 and, in it, to byte *k* % 4 of group *k* % 32 / 4. Its value is
/// scale · (byte − `ZERO`) + offset, the byte unsigned (with [`Panels::SIGNED`]: signed).
pub trait Panels: Stored {
    /// Stored bytes that become the quants, in order.
    const QUANTS: &'static [Words];
    /// Words of fifth bits, which are packed before the quants with bit 4g + i moved to bit 8i + g.
    const BITS: &'static [usize];
    /// Halves among the scales: where they are stored.
    const HALVES: &'static [usize];
    /// Bytes of the scales that are taken as words.
    const SCALES: Words;
    /// A single byte among the scales.
    const BYTE: &'static [usize];

    /// The greatest byte of a group.
    const LIMIT: u32;
    /// What the value subtracts from a byte.
    const ZERO: u32;
    /// Bytes are signed; `ZERO` is then 0.
    const SIGNED: bool = false;
    /// The value has an offset of its own.
    const OFFSETS: bool = false;
    /// The second half of a part has another scale.
    const SPLIT: bool = false;

    /// Bytes of quants of one row's block.
    const BODY: usize = 4 * (words(Self::QUANTS) + Self::BITS.len());
    /// Bytes of scales of one row's block.
    const HEAD: usize = Self::BYTES - Self::BODY;

    /// The bytes of group `g` (0 to 7) of part `part` of the block whose quants are at `body`.
    ///
    /// # Safety
    /// The block's quants, `BODY · S::LANES` bytes, are readable.
    unsafe fn group<S: Simd>(s: S, body: *const u8, part: usize, g: usize) -> S::I;

    /// The scale of the given half of a part.
    ///
    /// # Safety
    /// The block's scales, `HEAD · S::LANES` bytes, are readable.
    unsafe fn scale<S: Simd>(s: S, head: *const u8, part: usize, half: usize) -> S::V;

    /// The offset of a part. Called with `OFFSETS` alone.
    ///
    /// # Safety
    /// As for [`Panels::scale`].
    #[inline(always)]
    unsafe fn offset<S: Simd>(s: S, _head: *const u8, _part: usize) -> S::V {
        s.splat(0.0)
    }
}

const fn words(fields: &[Words]) -> usize {
    let (mut i, mut sum) = (0, 0);
    while i < fields.len() {
        sum += fields[i].1;
        i += 1;
    }
    sum
}

/// Word `w` of each row.
///
/// # Safety
/// It is readable.
#[inline(always)]
unsafe fn word<S: Simd>(s: S, p: *const u8, w: usize) -> S::I {
    // SAFETY: the caller's pointer.
    unsafe { s.load_words(p.add(w * 4 * S::LANES)) }
}

/// The halves at `p`, one for each row, decoded.
///
/// # Safety
/// They are readable.
#[inline(always)]
unsafe fn halves<S: Simd>(s: S, p: *const u8) -> S::V {
    // SAFETY: the caller's pointer.
    s.widen_f16(unsafe { s.load16(p.cast()) })
}

/// Names a block format in an expression: `with_panels!(format, F => body::<F>())`. The caller has asked
/// [`Format::is_blocks`].
macro_rules! with_panels {
    ($format:expr, $f:ident => $body:expr) => {{
        use $crate::simd::quant::formats as f;
        match $format {
            f::Format::Q8_0 => {
                type $f = f::Q8_0;
                $body
            }
            f::Format::Q4_0 => {
                type $f = f::Q4_0;
                $body
            }
            f::Format::Q4_1 => {
                type $f = f::Q4_1;
                $body
            }
            f::Format::Q5_0 => {
                type $f = f::Q5_0;
                $body
            }
            f::Format::Q5_1 => {
                type $f = f::Q5_1;
                $body
            }
            f::Format::Q4K => {
                type $f = f::Q4K;
                $body
            }
            f::Format::Q5K => {
                type $f = f::Q5K;
                $body
            }
            f::Format::Q6K => {
                type $f = f::Q6K;
                $body
            }
            f::Format::Mxfp4 => {
                type $f = f::Mxfp4;
                $body
            }
            other => unreachable!("{other:?} is no block format"),
        }
    }};
}
pub(super) use with_panels;

/// Bytes of a packed weight of `n` rows of `k` elements, for vectors of `lanes`: rows are rounded up to whole panels.
pub fn packed_bytes(format: Format, lanes: usize, n: usize, k: usize) -> usize {
    n.next_multiple_of(lanes) * format.bytes_for(k)
}

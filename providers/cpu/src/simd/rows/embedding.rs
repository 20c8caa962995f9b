//! Rows of a table by number.

use super::RowsMut;
use super::copy::{self, By};
use crate::simd::lanes::Simd;
use crate::simd::quant::formats::Format;
use crate::simd::{Isa, with_isa};
use core::ops::Range;

/// `out[t] = table[ids[t]] · scale`, rows of `width`.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingArgs {
    pub table: *const u8,
    pub format: Format,
    /// Bytes from one row of the table to the next.
    pub table_stride: isize,
    /// Rows of the table.
    pub vocabulary: usize,
    pub ids: *const i32,
    pub ids_stride: i64,
    pub out: RowsMut,
    pub width: usize,
    pub scale: f32,
}

// SAFETY: addresses; whoever makes them vouches for the memory, and a body writes the rows of its own range alone.
unsafe impl Send for EmbeddingArgs {}
// SAFETY: as above.
unsafe impl Sync for EmbeddingArgs {}

/// Writes the rows of a range. Disjoint ranges may run at once.
///
/// # Errors
/// The first row whose id is outside the table, and the id; that row and the range's later ones are not written.
///
/// # Safety
/// The machine has `isa`. Ids and table rows are readable (whole blocks, plain types aligned), rows of `out` writable and aligned,
/// without overlap.
pub unsafe fn embedding(
    isa: Isa,
    args: &EmbeddingArgs,
    rows: Range<usize>,
) -> Result<(), (usize, i32)> {
    with_isa!(isa, s => embedding_on(s, args, rows))
}

pub(super) fn embedding_on<S: Simd>(
    s: S,
    args: &EmbeddingArgs,
    rows: Range<usize>,
) -> Result<(), (usize, i32)> {
    let same = args.scale == 1.0 && args.format == Format::from(args.out.ty);
    for t in rows {
        // SAFETY: the id is readable, by the contract of `embedding`.
        let id = unsafe {
            args.ids
                .offset(t as isize * args.ids_stride as isize)
                .read()
        };
        if id < 0 || id as usize >= args.vocabulary {
            return Err((t, id));
        }
        let from = args.table.wrapping_offset(id as isize * args.table_stride);
        let to = args.out.row::<u8>(t);
        // SAFETY: the row lies in the table, since its id does; and the output's rows are the caller's.
        unsafe {
            if same {
                copy::bits(from, to, args.width * args.out.ty.bytes());
            } else {
                let (from, to) = ((args.format, from), (args.out.ty, to));
                copy::converted(s, from, to, args.width, By::Times(args.scale));
            }
        }
    }
    Ok(())
}

//! Where a chunk of a panel is read: in the packed weight, or packed now from plain rows.

use super::QuantArgs;
use crate::simd::quant::panel::{Panels, pack_fp8, pack_rows};

/// A chunk of one panel.
#[derive(Clone, Copy)]
pub struct Chunk {
    /// Its quants.
    pub body: *const u8,
    /// Its scales; for fp8 nothing.
    pub head: *const u8,
}

/// The blocks from `block` of panel `panel`. The plain layout is packed into `buffer`.
///
/// # Safety
/// The weight is as the arguments say; `buffer` has room for the chunk: `lanes · count · BYTES`.
pub unsafe fn chunk<F: Panels>(
    args: &QuantArgs,
    lanes: usize,
    panel: usize,
    block: usize,
    count: usize,
    buffer: *mut u8,
) -> Chunk {
    if args.packed {
        let base = args.panel(lanes, panel);
        let blocks = args.k / F::ELEMENTS;
        return Chunk {
            body: base.wrapping_add(block * lanes * F::BODY),
            head: base.wrapping_add(lanes * (blocks * F::BODY + block * F::HEAD)),
        };
    }
    let head = buffer.wrapping_add(count * lanes * F::BODY);
    let row = |lane| {
        let row = args.b_row(panel * lanes + lane);
        if row.is_null() {
            return row;
        }
        row.wrapping_add(block * F::BYTES)
    };
    // SAFETY: the rows hold the blocks, the buffer the chunk.
    unsafe { pack_rows::<F>(lanes, row, count, buffer, head) };
    Chunk { body: buffer, head }
}

/// The elements from `at` of a panel of fp8. The plain layout is packed into `buffer`.
///
/// # Safety
/// As for [`chunk`], with room for `lanes · count` bytes.
pub unsafe fn chunk_fp8(
    args: &QuantArgs,
    lanes: usize,
    panel: usize,
    at: usize,
    count: usize,
    buffer: *mut u8,
) -> *const u8 {
    if args.packed {
        return args.panel(lanes, panel).wrapping_add(at * lanes);
    }
    let row = |lane| {
        let row = args.b_row(panel * lanes + lane);
        if row.is_null() {
            return row;
        }
        row.wrapping_add(at)
    };
    // SAFETY: the rows hold the elements, the buffer the chunk.
    unsafe { pack_fp8(lanes, row, count, buffer) };
    buffer
}

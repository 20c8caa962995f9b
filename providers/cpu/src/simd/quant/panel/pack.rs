//! From stored rows to panels.

use super::{Panels, with_panels};
use crate::simd::quant::formats::{Format, Stored};

/// Moves bit 4g + i of a word to bit 8i + g: then the bits of group g lie in four bytes at one place.
#[inline(always)]
fn spread(x: u32) -> u32 {
    // The place of a bit, five bits g₂g₁g₀i₁i₀, becomes i₁i₀g₂g₁g₀: exchanges of single place bits.
    let swap = |x: u32, mask: u32, by: u32| {
        let moved = (x ^ x >> by) & mask;
        x ^ moved ^ moved << by
    };
    // g₂g₁g₀i₁i₀ → exchange places 4 and 1: i₁g₁g₀g₂i₀
    let x = swap(x, 0x0000_cccc, 14);
    // exchange places 3 and 0: i₁i₀g₀g₂g₁
    let x = swap(x, 0x00aa_00aa, 7);
    // exchange places 2 and 1: i₁i₀g₂g₀g₁
    let x = swap(x, 0x0c0c_0c0c, 2);
    // exchange places 1 and 0: i₁i₀g₂g₁g₀
    swap(x, 0x2222_2222, 1)
}

/// Packs `lanes` rows of `k` elements, 8 or 16, as a whole panel. A null row is zeros.
///
/// # Safety
/// Rows that are not null have the elements readable, whole blocks of them; the panel's bytes are writable.
pub unsafe fn pack_panel(
    format: Format,
    lanes: usize,
    row: impl Fn(usize) -> *const u8,
    k: usize,
    to: *mut u8,
) {
    // SAFETY: the caller's contract, passed on.
    unsafe {
        if !format.is_blocks() {
            return pack_fp8(lanes, row, k, to);
        }
        with_panels!(format, F => {
            let blocks = k / F::ELEMENTS;
            pack_rows::<F>(lanes, row, blocks, to, to.wrapping_add(blocks * lanes * F::BODY));
        });
    }
}

/// Packs `blocks` blocks of `lanes` rows, 8 or 16: quants to `body`, scales to `head`. A null row is zeros.
///
/// # Safety
/// Rows that are not null have the blocks readable; `lanes · BODY` and `lanes · HEAD` bytes a block are writable.
pub unsafe fn pack_rows<F: Panels>(
    lanes: usize,
    row: impl Fn(usize) -> *const u8,
    blocks: usize,
    body: *mut u8,
    head: *mut u8,
) {
    // SAFETY: the caller's contract, passed on.
    unsafe {
        match lanes {
            8 => pack_lanes::<F, 8>(row, blocks, body, head),
            16 => pack_lanes::<F, 16>(row, blocks, body, head),
            other => unreachable!("no panel of {other} rows"),
        }
    }
}

/// # Safety
/// As for [`pack_rows`].
unsafe fn pack_lanes<F: Panels, const T: usize>(
    row: impl Fn(usize) -> *const u8,
    blocks: usize,
    body: *mut u8,
    head: *mut u8,
) {
    for lane in 0..T {
        let row = row(lane);
        if row.is_null() {
            // SAFETY: the lane's places lie in the panel.
            unsafe { pack_row::<F, T>(lane, |_| [0; 4], |_| [0; 2], |_| 0, blocks, body, head) };
            continue;
        }
        // SAFETY: offsets lie inside the row's blocks, and the lane's places in the panel.
        unsafe {
            pack_row::<F, T>(
                lane,
                |at| row.add(at).cast::<[u8; 4]>().read_unaligned(),
                |at| row.add(at).cast::<[u8; 2]>().read_unaligned(),
                |at| row.add(at).read(),
                blocks,
                body,
                head,
            );
        }
    }
}

/// # Safety
/// As for [`pack_rows`], for one lane of `T`.
#[inline(always)]
unsafe fn pack_row<F: Panels, const T: usize>(
    lane: usize,
    word: impl Fn(usize) -> [u8; 4],
    half: impl Fn(usize) -> [u8; 2],
    byte: impl Fn(usize) -> u8,
    blocks: usize,
    body: *mut u8,
    head: *mut u8,
) {
    for block in 0..blocks {
        let from = block * F::BYTES;
        // SAFETY: places are below T times the bytes of quants or scales of a block.
        unsafe {
            let mut to = body.add(block * T * F::BODY + 4 * lane);
            for &at in F::BITS {
                let bits = spread(u32::from_le_bytes(word(from + at)));
                to.cast::<[u8; 4]>().write_unaligned(bits.to_le_bytes());
                to = to.add(4 * T);
            }
            for &(at, count) in F::QUANTS {
                for i in 0..count {
                    to.cast::<[u8; 4]>()
                        .write_unaligned(word(from + at + 4 * i));
                    to = to.add(4 * T);
                }
            }
            let mut to = head.add(block * T * F::HEAD);
            for &at in F::HALVES {
                to.add(2 * lane)
                    .cast::<[u8; 2]>()
                    .write_unaligned(half(from + at));
                to = to.add(2 * T);
            }
            let (at, count) = F::SCALES;
            for i in 0..count {
                to.add(4 * lane)
                    .cast::<[u8; 4]>()
                    .write_unaligned(word(from + at + 4 * i));
                to = to.add(4 * T);
            }
            for &at in F::BYTE {
                to.add(lane).write(byte(from + at));
            }
        }
    }
}

/// Packs `k` elements of `lanes` rows of fp8. A null row is zeros.
///
/// # Safety
/// Rows that are not null have the elements readable; `lanes · k` bytes are writable.
pub unsafe fn pack_fp8(lanes: usize, row: impl Fn(usize) -> *const u8, k: usize, to: *mut u8) {
    for lane in 0..lanes {
        let row = row(lane);
        for i in 0..k {
            // SAFETY: the element lies inside the row, its place inside the panel.
            unsafe {
                let byte = if row.is_null() { 0 } else { row.add(i).read() };
                to.add(i * lanes + lane).write(byte);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn every_bit_moves_to_its_group() {
        for g in 0..8 {
            for i in 0..4 {
                assert_eq!(spread(1 << (4 * g + i)), 1 << (8 * i + g), "{g} {i}");
            }
        }
    }
}

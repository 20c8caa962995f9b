//! Where the keys and values of a tile lie.

use super::super::convert::decode;
use super::super::elem::ElemType;
use super::super::lanes::Simd;
use super::{AttentionArgs, KEYS};
use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::ops::Range;

/// Pointers to the vectors of a tile's keys or values, by position in the tile.
pub type Vectors = [*const u8; KEYS];

/// Finds the keys and values at the positions `keys` of a sequence. Entries outside repeat the first found, so that a group
/// of four may be read whole.
///
/// # Safety
/// As for [`super::run_item`]; `keys` is not empty, lies in one tile and inside the sequence.
pub unsafe fn find(
    args: &AttentionArgs,
    request: usize,
    kv_head: usize,
    keys: Range<usize>,
) -> (Vectors, Vectors) {
    let table = args
        .block_table
        .wrapping_offset(request as isize * args.block_table_strides[0] as isize);
    let first = keys.start % KEYS;
    let mut page = keys.start / args.page_size;
    let mut slot = keys.start % args.page_size;
    let (mut k_found, mut v_found) = ([core::ptr::null(); KEYS], [core::ptr::null(); KEYS]);
    let mut at = first;
    let end = first + keys.len();
    while at < end {
        // SAFETY: the page holds a key inside the sequence, so its entry is readable.
        let block =
            unsafe { *table.wrapping_offset(page as isize * args.block_table_strides[1] as isize) }
                as i64;
        let mut k = vector(
            args.k_cache,
            args.k_type,
            &args.k_strides,
            block,
            slot,
            kv_head,
        );
        let mut v = vector(
            args.v_cache,
            args.v_type,
            &args.v_strides,
            block,
            slot,
            kv_head,
        );
        let run = (args.page_size - slot).min(end - at);
        for i in at..at + run {
            k_found[i] = k;
            v_found[i] = v;
            k = k.wrapping_offset(args.k_strides[1] as isize * args.k_type.bytes() as isize);
            v = v.wrapping_offset(args.v_strides[1] as isize * args.v_type.bytes() as isize);
        }
        at += run;
        page += 1;
        slot = 0;
    }
    let (k, v) = (k_found[first], v_found[first]);
    k_found[..first].fill(k);
    v_found[..first].fill(v);
    k_found[end..].fill(k);
    v_found[end..].fill(v);
    (k_found, v_found)
}

fn vector(
    base: *const u8,
    ty: ElemType,
    strides: &[i64; 3],
    block: i64,
    slot: usize,
    head: usize,
) -> *const u8 {
    // In 64 bits throughout: a cache may reach past 2³¹ elements.
    let element = block * strides[0] + slot as i64 * strides[1] + head as i64 * strides[2];
    base.wrapping_offset(element as isize * ty.bytes() as isize)
}

/// Decodes the vectors at `places` to f32 rows of `padded` floats in `to`, where row *i* is for place *i*, and points at those
/// instead. Vectors of `ahead` at the same places are fetched meanwhile.
///
/// # Safety
/// The vectors at `places` have `n` readable elements of `ty`; `places` lies in one tile.
#[expect(
    clippy::too_many_arguments,
    reason = "one use, and each is a plain part of it"
)]
pub unsafe fn pack<S: Simd>(
    s: S,
    ty: ElemType,
    vectors: &mut Vectors,
    ahead: Option<&Vectors>,
    places: Range<usize>,
    n: usize,
    padded: usize,
    to: &mut [f32],
) {
    assert!(KEYS * padded <= to.len());
    for i in places {
        if let Some(ahead) = ahead {
            fetch(ahead[i], n * ty.bytes());
        }
        // SAFETY: the caller's contract; row i lies in `to`.
        unsafe {
            let row = to.as_mut_ptr().add(i * padded);
            decode(s, ty, vectors[i], row, n, padded);
            vectors[i] = row.cast_const().cast();
        }
    }
}

/// Asks for `bytes` bytes from `at` on to be brought into the cache.
#[inline(always)]
pub fn fetch(at: *const u8, bytes: usize) {
    for line in (0..bytes).step_by(64) {
        // SAFETY: a prefetch is a hint; it reads nothing and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(line).cast()) };
    }
}

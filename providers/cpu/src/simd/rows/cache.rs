//! New keys and values into a paged cache.

use super::Rows;
use super::copy::{self, By};
use crate::simd::lanes::Simd;
use crate::simd::quant::formats::Format;
use crate::simd::{ElemType, Isa, with_isa};
use core::ops::Range;

/// Where one kind, keys or values, comes from and goes to.
#[derive(Clone, Copy, Debug)]
pub struct CacheSide {
    /// Tokens, their heads apart by `head_stride` elements.
    pub source: Rows,
    pub head_stride: i64,
    pub cache: *mut u8,
    pub cache_type: ElemType,
    /// Elements from page to page, from position to position, and from head to head.
    pub cache_strides: [i64; 3],
    /// Elements of a head.
    pub width: usize,
    /// What each element is divided by before it is rounded.
    pub scale: f32,
}

/// Both kinds, for the same tokens and slots.
#[derive(Clone, Copy, Debug)]
pub struct CacheArgs {
    pub sides: [CacheSide; 2],
    pub slots: *const i64,
    pub slots_stride: i64,
    pub heads: usize,
    pub pages: usize,
    pub page_size: usize,
}

// SAFETY: addresses; whoever makes them vouches for the memory, and a body writes the slots of its own range alone.
unsafe impl Send for CacheArgs {}
// SAFETY: as above.
unsafe impl Sync for CacheArgs {}

/// Writes the tokens of a range to their slots; negative slots are passed over. Disjoint ranges may run at once.
///
/// # Errors
/// The first token whose slot is outside the cache, and the slot; that token and the range's later ones are not written.
///
/// # Safety
/// The machine has `isa`. Sources and slots are readable, the pages writable, all aligned to their elements; no two tokens have one
/// slot.
pub unsafe fn cache(isa: Isa, args: &CacheArgs, tokens: Range<usize>) -> Result<(), (usize, i64)> {
    with_isa!(isa, s => cache_on(s, args, tokens))
}

pub(super) fn cache_on<S: Simd>(
    s: S,
    args: &CacheArgs,
    tokens: Range<usize>,
) -> Result<(), (usize, i64)> {
    for t in tokens {
        // SAFETY: the slot is readable, by the contract of `cache`.
        let slot = unsafe {
            let at = t as isize * args.slots_stride as isize;
            args.slots.offset(at).read()
        };
        if slot < 0 {
            continue;
        }
        // Divided before it is compared, since the number of slots may not fit.
        let place = slot as usize;
        if args.page_size == 0 || place / args.page_size >= args.pages {
            return Err((t, slot));
        }
        let (page, position) = (place / args.page_size, place % args.page_size);
        for side in &args.sides {
            // SAFETY: the page lies in the cache; the token is one of the source.
            unsafe { write(s, side, t, [page, position], args.heads) };
        }
    }
    Ok(())
}

/// # Safety
/// Token `t` of the source is readable, the position of the page writable.
unsafe fn write<S: Simd>(
    s: S,
    side: &CacheSide,
    t: usize,
    [page, position]: [usize; 2],
    heads: usize,
) {
    let (source, target) = (side.source.ty, side.cache_type);
    let [page_stride, position_stride, head_stride] = side.cache_strides.map(|s| s as isize);
    let start = page as isize * page_stride + position as isize * position_stride;
    // A quotient costs several products.
    let by = match side.scale {
        1.0 => By::Times(1.0),
        scale => By::Over(scale),
    };
    let same = source == target && by == By::Times(1.0);
    // Heads that lie one behind the other on both sides are one row.
    let dense = side.head_stride == side.width as i64 && head_stride == side.width as isize;
    let (count, width) = match heads {
        0 => return,
        _ if dense => (1, heads * side.width),
        heads => (heads, side.width),
    };
    let from = side.source.row::<u8>(t);
    for h in 0..count as isize {
        let from = from.wrapping_offset(h * side.head_stride as isize * source.bytes() as isize);
        let to = side
            .cache
            .wrapping_offset((start + h * head_stride) * target.bytes() as isize);
        // SAFETY: the head's elements, by the contract.
        unsafe {
            if same {
                copy::bits(from, to, width * source.bytes());
            } else {
                let (from, to) = ((Format::from(source), from), (target, to));
                copy::converted(s, from, to, width, by);
            }
        }
    }
}

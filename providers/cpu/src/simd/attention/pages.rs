//! Where the keys and values of a tile lie.

use super::super::quant::formats::Format;
use super::kv::offset;
use super::{AttentionArgs, TILE};
use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::ops::Range;

/// The keys or values of a tile for one KV head.
#[derive(Clone, Copy)]
pub struct Vectors<'a> {
    /// Those of the first KV head of the item, by place in the tile.
    first: &'a [*const u8; TILE],
    /// Bytes from there to the head.
    offset: isize,
}

impl<'a> Vectors<'a> {
    pub fn new(first: &'a [*const u8; TILE], offset: isize) -> Self {
        Vectors { first, offset }
    }

    /// The vector at a place of the tile.
    #[inline(always)]
    pub fn at(&self, place: usize) -> *const u8 {
        self.first[place].wrapping_offset(self.offset)
    }
}

/// Where a tile's keys and values lie for one KV head, and which of its places hold one that a row sees.
pub struct Found {
    pub keys: [*const u8; TILE],
    pub values: [*const u8; TILE],
    pub places: Range<usize>,
}

impl Found {
    /// Finds the keys and values at the positions `keys` of a sequence. Entries outside repeat the first found, so that a
    /// group of several may be read whole.
    ///
    /// # Safety
    /// As for [`super::run_item`]; `keys` is not empty, lies in one tile and inside the sequence.
    pub unsafe fn find(
        args: &AttentionArgs,
        request: usize,
        kv_head: usize,
        keys: Range<usize>,
    ) -> Found {
        let table = args
            .block_table
            .wrapping_offset(request as isize * args.block_table_strides[0] as isize);
        let mut page = keys.start / args.page_size;
        let mut slot = keys.start % args.page_size;
        let places = keys.start % TILE..keys.start % TILE + keys.len();
        let mut found = Found {
            keys: [core::ptr::null(); TILE],
            values: [core::ptr::null(); TILE],
            places: places.clone(),
        };
        let (k_step, v_step) = (
            offset(args.k_type, args.k_strides[1]),
            offset(args.v_type, args.v_strides[1]),
        );
        let mut at = places.start;
        while at < places.end {
            // SAFETY: the page holds a key inside the sequence, so its entry is readable.
            let block = unsafe {
                *table.wrapping_offset(page as isize * args.block_table_strides[1] as isize)
            } as i64;
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
            let run = (args.page_size - slot).min(places.end - at);
            for i in at..at + run {
                found.keys[i] = k;
                found.values[i] = v;
                k = k.wrapping_offset(k_step);
                v = v.wrapping_offset(v_step);
            }
            at += run;
            page += 1;
            slot = 0;
        }
        for vectors in [&mut found.keys, &mut found.values] {
            let first = vectors[places.start];
            vectors[..places.start].fill(first);
            vectors[places.end..].fill(first);
        }
        found
    }
}

fn vector(
    base: *const u8,
    format: Format,
    strides: &[i64; 3],
    block: i64,
    slot: usize,
    head: usize,
) -> *const u8 {
    // In 64 bits throughout: a cache may reach past 2³¹ elements.
    let element = block * strides[0] + slot as i64 * strides[1] + head as i64 * strides[2];
    base.wrapping_offset(offset(format, element))
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for `bytes` bytes from `at` on to be brought into the cache.
#[inline(always)]
pub fn fetch(at: *const u8, bytes: usize) {
    for line in (0..bytes).step_by(LINE) {
        // SAFETY: a prefetch is a hint; it reads nothing and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(line).cast()) };
    }
}

/// Reads a byte of each cache line. Other than [`fetch`], this tells hardware of a stream to follow.
///
/// # Safety
/// `bytes` bytes from `at` on are readable.
#[inline(always)]
pub unsafe fn touch(at: *const u8, bytes: usize) {
    for line in (0..bytes).step_by(LINE) {
        // SAFETY: the caller's pointer. Volatile, since the byte itself is of no use.
        unsafe { at.add(line).read_volatile() };
    }
}

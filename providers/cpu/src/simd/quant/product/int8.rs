//! Integer products of parts, and what they become in f32.

use super::activations::{Rows, zero};
use super::finish::finish;
use super::source::chunk;
use super::{COLUMNS, FEW_INT8, PANELS, QuantArgs, ROWS};
use super::{int8_few, int8_many};
use crate::simd::lanes::Simd;
use crate::simd::quant::panel::{Panels, with_panels};
use crate::simd::scratch::{Cutter, len_for};
use core::ops::Range;

/// Elements of k in a chunk that is decoded, or packed, at a time: of sixteen columns they take half of a first-level cache.
pub const DEPTH: usize = 512;

/// A prepared row from some block on.
#[derive(Clone, Copy)]
pub struct Row {
    /// Integers.
    pub q: *const u8,
    /// Scales.
    pub d: *const f32,
    /// Two words a block.
    pub x: *const u32,
}

impl Row {
    /// Row `row` from part `part` on.
    pub fn of(prepared: *const u8, rows: Rows, row: usize, part: usize) -> Self {
        let base = prepared.wrapping_add(row * rows.stride);
        let bytes = if rows.halves { 64 } else { 32 };
        Row {
            q: base.wrapping_add(part * bytes),
            d: base.wrapping_add(rows.scales + 4 * part).cast(),
            x: base.wrapping_add(rows.extras + 8 * part).cast(),
        }
    }
}

/// How many sums of two products of bytes fit in 16 bits, as a power of two up to 8.
pub const fn run(limit: u32) -> usize {
    match 32767 / (2 * 127 * limit) {
        0 => 0,
        1 => 1,
        2..4 => 2,
        4..8 => 4,
        _ => 8,
    }
}

/// Four bytes of a row in every word.
///
/// # Safety
/// They are readable.
#[inline(always)]
pub unsafe fn spread<S: Simd>(s: S, q: *const u8) -> S::I {
    // SAFETY: the caller's pointer.
    s.words(unsafe { q.cast::<u32>().read_unaligned() })
}

/// The sum, for each column, of the products of `N` groups with the row's bytes at `q`. Groups are unsigned: those of a signed
/// format have 128 added ([`unsigned`]).
///
/// # Safety
/// 4·N bytes are readable.
#[inline(always)]
pub unsafe fn dot<S: Simd, F: Panels, const N: usize>(s: S, groups: &[S::I], q: *const u8) -> S::I {
    let mut acc = [s.words(0); 2];
    // SAFETY: the caller's pointer.
    unsafe {
        if S::QUADS {
            for g in 0..N {
                acc[g % 2] = s.quads(acc[g % 2], groups[g], spread(s, q.add(4 * g)));
            }
        } else if F::SIGNED {
            for g in 0..N {
                let signed = s.signed_by(spread(s, q.add(4 * g)), groups[g]);
                acc[g % 2] = s.quads(acc[g % 2], s.magnitudes(groups[g]), signed);
            }
        } else {
            let run = const { run(F::LIMIT) };
            for first in (0..N).step_by(run) {
                let mut halves = s.byte_pairs(groups[first], spread(s, q.add(4 * first)));
                for g in first + 1..N.min(first + run) {
                    let pairs = s.byte_pairs(groups[g], spread(s, q.add(4 * g)));
                    halves = s.add_halves(halves, pairs);
                }
                let words = s.half_pairs(halves, s.words(0x0001_0001));
                acc[0] = s.add_words(acc[0], words);
            }
        }
    }
    s.add_words(acc[0], acc[1])
}

/// Groups as [`dot`] and [`settle`] take them.
#[inline(always)]
pub fn unsigned<S: Simd, F: Panels>(s: S, group: S::I) -> S::I {
    if F::SIGNED && S::QUADS {
        s.xor(group, s.words(0x8080_8080))
    } else {
        group
    }
}

/// The scales of a part.
#[derive(Clone, Copy)]
pub struct Scales<S: Simd> {
    /// Of both halves.
    pub scale: [S::V; 2],
    /// Of all.
    pub offset: S::V,
}

/// # Safety
/// The block's scales are readable.
#[inline(always)]
pub unsafe fn scales<S: Simd, F: Panels>(s: S, head: *const u8, part: usize) -> Scales<S> {
    // SAFETY: the same contract.
    unsafe {
        let first = F::scale(s, head, part, 0);
        Scales {
            scale: [
                first,
                if F::SPLIT {
                    F::scale(s, head, part, 1)
                } else {
                    first
                },
            ],
            offset: if F::OFFSETS {
                F::offset(s, head, part)
            } else {
                s.splat(0.0)
            },
        }
    }
}

/// Adds a part, whose integer sums these are (of both halves, or of the whole), to an accumulator.
///
/// # Safety
/// The row's scale and extras of the part are readable.
#[inline(always)]
pub unsafe fn settle<S: Simd, F: Panels>(
    s: S,
    mut acc: S::V,
    sums: [S::I; 2],
    scales: Scales<S>,
    d: *const f32,
    x: *const u32,
) -> S::V {
    // SAFETY: the caller's pointers.
    let (d, x) = unsafe { (s.splat(d.read()), [x.read(), x.add(1).read()]) };
    let halves = if F::SPLIT { 2 } else { 1 };
    for half in 0..halves {
        let mut sum = sums[half];
        if zero::<S, F>() != 0 {
            sum = s.sub_words(sum, s.words(x[half]));
        }
        acc = s.fma(s.floats(sum), s.mul(scales.scale[half], d), acc);
    }
    if F::OFFSETS {
        acc = s.fma(scales.offset, s.as_floats(s.words(x[0])), acc);
    }
    acc
}

/// Bytes of one panel's chunk, packed from plain rows.
fn packed_chunk<S: Simd, F: Panels>() -> usize {
    S::LANES * DEPTH / F::ELEMENTS * F::BYTES
}

pub fn scratch_len<S: Simd>(_s: S, args: &QuantArgs) -> usize {
    let packed = with_panels!(args.b_format, F => packed_chunk::<S, F>());
    len_for(&[
        packed.div_ceil(4),
        int8_many::decoded_floats::<S>(),
        ROWS * COLUMNS,
    ])
}

/// # Safety
/// As for [`super::rows`], for at most `ROWS` rows.
pub unsafe fn rows<S: Simd>(
    s: S,
    args: &QuantArgs,
    prepared: *const u8,
    m: Range<usize>,
    n: Range<usize>,
    scratch: &mut [f32],
) {
    // SAFETY: the caller's contract, passed on.
    with_panels!(args.b_format, F => unsafe { rows_of::<S, F>(s, args, prepared, m, n, scratch) });
}

/// # Safety
/// As for [`rows`].
unsafe fn rows_of<S: Simd, F: Panels>(
    s: S,
    args: &QuantArgs,
    prepared: *const u8,
    m: Range<usize>,
    n: Range<usize>,
    scratch: &mut [f32],
) {
    let rows = Rows::of::<S>(args);
    let mut cutter = Cutter::new(scratch);
    let packed = cutter.cut(packed_chunk::<S, F>().div_ceil(4));
    let packed: *mut u8 = packed.as_mut_ptr().cast();
    let decoded = cutter.cut(int8_many::decoded_floats::<S>()).as_mut_ptr();
    let acc = cutter.cut(ROWS * COLUMNS);
    // A call of many rows has 16-bit integers where they are of use; its cuts follow the same path, however few they are.
    let few = m.len() <= FEW_INT8 && !rows.halves;
    // Panels of one step, and steps that share a chunk of the rows.
    let (wide, steps) = if few {
        (S::LANES, 1)
    } else {
        (PANELS * S::LANES, COLUMNS / (PANELS * S::LANES))
    };
    let blocks = args.k / F::ELEMENTS;
    let deep = if few && args.packed {
        blocks.max(1)
    } else {
        DEPTH / F::ELEMENTS
    };
    let row = |part: usize| move |r: usize| Row::of(prepared, rows, m.start + r, part);
    let step_floats = m.len() * wide;
    for first in n.clone().step_by(steps * wide) {
        let columns = first..n.end.min(first + steps * wide);
        acc[..columns.len().div_ceil(wide) * step_floats].fill(0.0);
        for block in (0..blocks).step_by(deep) {
            let count = deep.min(blocks - block);
            let part = block * F::ELEMENTS / 32;
            for (step, column) in columns.clone().step_by(wide).enumerate() {
                let acc = acc[step * step_floats..].as_mut_ptr();
                // SAFETY: the panels exist; the buffer holds a chunk, and a longer one only where nothing is packed. The
                // accumulators hold the rows, and the chunk is decoded for all panels before it is used.
                unsafe {
                    let chunk = |i: usize| {
                        // Panels past the last column are not there: the last one is taken again, and dropped.
                        let panel = (column / S::LANES + i).min((n.end - 1) / S::LANES);
                        chunk::<F>(args, S::LANES, panel, block, count, packed)
                    };
                    if few {
                        int8_few::run::<S, F>(s, chunk(0), count, m.len(), row(part), acc);
                    } else {
                        for i in 0..PANELS {
                            int8_many::decode::<S, F>(s, chunk(i), count, i, rows.halves, decoded);
                        }
                        let parts = count * F::ELEMENTS / 32;
                        int8_many::run::<S, F>(s, decoded, parts, rows, m.len(), row(part), acc);
                    }
                }
            }
        }
        for (step, column) in columns.clone().step_by(wide).enumerate() {
            let acc = acc[step * step_floats..].as_ptr();
            // SAFETY: the accumulators of all rows are there; the ranges are the caller's.
            unsafe { finish(s, args, acc, wide, (m.start, m.len()), column, n.end) };
        }
    }
}

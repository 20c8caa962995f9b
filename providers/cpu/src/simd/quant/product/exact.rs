//! Products with activations as they are: weights are decoded to f32.

use super::activations::Rows;
use super::finish::finish;
use super::source::chunk;
use super::{COLUMNS, PANELS, QuantArgs, ROWS};
use super::{exact_few, exact_fp8, exact_many};
use crate::simd::lanes::Simd;
use crate::simd::quant::formats::{Format, Stored};
use crate::simd::quant::panel::{Panels, with_panels};
use crate::simd::scratch::{Cutter, len_for};
use core::ops::Range;

/// Elements of k in a chunk that is decoded, or packed, at a time. Its products are added from zero, and then to those of the
/// chunks before, so that rounding does not grow with all of k.
pub const DEPTH: usize = 256;
/// Panels side by side for one row: each has one chain of additions, and so many cover the latency of one.
pub const SIDE_BY_SIDE: usize = 4;

/// The rows of a call's range as f32, from element `at` on.
#[derive(Clone, Copy)]
pub struct Floats {
    first: *const u8,
    stride: usize,
}

impl Floats {
    /// Row `r` of the range.
    #[inline(always)]
    pub fn row(self, r: usize) -> *const f32 {
        self.first.wrapping_add(r * self.stride).cast()
    }
}

/// Bytes of one panel's chunk, packed from plain rows.
fn packed_chunk<S: Simd>(format: Format) -> usize {
    S::LANES
        * match format.is_blocks() {
            true => format.bytes_for(DEPTH),
            false => DEPTH,
        }
}

pub fn scratch_len<S: Simd>(_s: S, args: &QuantArgs) -> usize {
    len_for(&[
        SIDE_BY_SIDE * packed_chunk::<S>(args.b_format).div_ceil(4),
        DEPTH * PANELS * S::LANES,
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
    let prepared_rows = Rows::of::<S>(args);
    let bytes = packed_chunk::<S>(args.b_format);
    let mut cutter = Cutter::new(scratch);
    let packed = cutter.cut(SIDE_BY_SIDE * bytes.div_ceil(4));
    let packed: *mut u8 = packed.as_mut_ptr().cast();
    let decoded = cutter.cut(DEPTH * PANELS * S::LANES).as_mut_ptr();
    let acc = cutter.cut(ROWS * COLUMNS);
    let few = m.len() <= 2;
    // Panels of one step, and steps that share a chunk of the rows.
    let wide = if m.len() == 1 { SIDE_BY_SIDE } else { PANELS } * S::LANES;
    let steps = if few { 1 } else { COLUMNS / wide };
    let step_floats = m.len() * wide;
    for first in n.clone().step_by(steps * wide) {
        let columns = first..n.end.min(first + steps * wide);
        acc[..columns.len().div_ceil(wide) * step_floats].fill(0.0);
        for at in (0..args.k).step_by(DEPTH) {
            let count = DEPTH.min(args.k - at);
            let floats = Floats {
                first: prepared.wrapping_add(m.start * prepared_rows.stride + 4 * at),
                stride: prepared_rows.stride,
            };
            for (step, column) in columns.clone().step_by(wide).enumerate() {
                let acc = acc[step * step_floats..].as_mut_ptr();
                // Panels past the last column are not there: the last one is taken again, and dropped.
                let panel = |i: usize| (column / S::LANES + i).min((n.end - 1) / S::LANES);
                // SAFETY: the panels exist and hold the chunk; the buffers have room for one of each panel. Accumulators hold
                // the rows, and the chunk is decoded for all panels before it is used.
                unsafe {
                    if !args.b_format.is_blocks() {
                        let panels = exact_fp8::Panels8 {
                            args,
                            at,
                            count,
                            packed,
                            bytes,
                        };
                        if few {
                            exact_fp8::run_few(s, &panels, panel, m.len(), floats, acc);
                        } else {
                            exact_fp8::decode(s, &panels, panel, decoded);
                        }
                    } else {
                        with_panels!(args.b_format, F => {
                            let (block, blocks) = (at / F::ELEMENTS, count / F::ELEMENTS);
                            let chunk = |i: usize| {
                                let buffer = packed.add(i * bytes);
                                chunk::<F>(args, S::LANES, panel(i), block, blocks, buffer)
                            };
                            if few {
                                exact_few::run::<S, F>(s, chunk, blocks, m.len(), floats, acc);
                            } else {
                                for i in 0..PANELS {
                                    exact_many::decode::<S, F>(s, chunk(i), blocks, i, decoded);
                                }
                            }
                        });
                    }
                    if !few {
                        exact_many::run(s, decoded, count, m.len(), floats, acc);
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

/// Factor and offset of a part's bytes, for one half of it: the value is byte · factor + offset, rounded once.
///
/// # Safety
/// The block's scales are readable.
#[inline(always)]
pub unsafe fn affine<S: Simd, F: Panels>(
    s: S,
    head: *const u8,
    part: usize,
    half: usize,
) -> (S::V, S::V) {
    // SAFETY: the same contract.
    unsafe {
        let scale = F::scale(s, head, part, half);
        let offset = if F::OFFSETS {
            F::offset(s, head, part)
        } else {
            // Exact: the zero has few bits.
            s.mul(scale, s.splat(-(F::ZERO as f32)))
        };
        (scale, offset)
    }
}

/// The values of byte `i` of a group.
#[inline(always)]
pub fn value<S: Simd, F: Panels>(
    s: S,
    group: S::I,
    i: usize,
    (scale, offset): (S::V, S::V),
) -> S::V {
    if F::SIGNED {
        let byte = match i {
            0 => s.sar::<24>(s.shl::<24>(group)),
            1 => s.sar::<24>(s.shl::<16>(group)),
            2 => s.sar::<24>(s.shl::<8>(group)),
            _ => s.sar::<24>(group),
        };
        return s.mul(s.floats(byte), scale);
    }
    let low = s.words(255);
    let byte = match i {
        0 => s.and(group, low),
        1 => s.and(s.shr::<8>(group), low),
        2 => s.and(s.shr::<16>(group), low),
        _ => s.shr::<24>(group),
    };
    s.fma(s.floats(byte), scale, offset)
}

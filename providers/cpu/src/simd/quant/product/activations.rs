//! Rows of `a` made ready: as f32, as fixed point ([`super::fixed_rows`]), or rounded to 8 bits.
//!
//! Rounding: of each 32 columns, in f32, the greatest magnitude is taken; id = 127 / it (0 if it is 0); an element becomes the
//! integer next to x · id, ties to even; and it stands for that times d = greatest / 127.

use super::{Activations, FEW_INT8, QuantArgs, fixed_rows};
use crate::simd::ElemType;
use crate::simd::elem::{Elem, with_elem};
use crate::simd::lanes::{Simd, Task};
use crate::simd::quant::formats::Format;
use crate::simd::quant::formats::decode_row;
use crate::simd::quant::panel::{Panels, with_panels};
use core::marker::PhantomData;
use core::ops::Range;

/// How prepared rows lie. Offsets are bytes in a row.
#[derive(Clone, Copy)]
pub struct Rows {
    /// Bytes of a row, a multiple of 64.
    pub stride: usize,
    /// Integers lie in 16 bits each instead of 8.
    pub halves: bool,
    /// The scales d, f32, one a block.
    pub scales: usize,
    /// Two words a block: what the sums of integers owe to the format. See [`Extra`].
    pub extras: usize,
}

/// What a block adds besides its products.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extra {
    /// The zero of the weights times the sum of the integers, in each half of the block (twice the whole, if the weights' scale
    /// is one for all).
    Zero { zero: i32, split: bool },
    /// d times the sum of the integers, as f32: what an offset of the weights is multiplied by.
    Offset,
}

/// What integer products subtract from each byte of a weight: instructions for unsigned bytes take signed ones with 128 added.
pub const fn zero<S: Simd, F: Panels>() -> u32 {
    if F::SIGNED && S::QUADS { 128 } else { F::ZERO }
}

impl Rows {
    pub fn of<S: Simd>(args: &QuantArgs) -> Self {
        if args.activations == Activations::Exact {
            return Rows {
                stride: (args.k * 4).next_multiple_of(64),
                halves: false,
                scales: 0,
                extras: 0,
            };
        }
        if args.activations == Activations::Fixed {
            return Rows {
                stride: fixed_rows::stride(args.k),
                halves: false,
                scales: 0,
                extras: 0,
            };
        }
        let signed = with_panels!(args.b_format, F => F::SIGNED);
        let halves = signed && !S::QUADS && args.m > FEW_INT8;
        let blocks = args.k / 32;
        let scales = args.k * if halves { 2 } else { 1 };
        Rows {
            stride: (scales + 12 * blocks).next_multiple_of(64),
            halves,
            scales,
            extras: scales + 4 * blocks,
        }
    }
}

/// # Safety
/// As for [`super::prepare`].
pub unsafe fn prepare<S: Simd>(s: S, args: &QuantArgs, prepared: *mut u8, m: Range<usize>) {
    let rows = Rows::of::<S>(args);
    for row in m {
        let from = args.a_row(row);
        let to = prepared.wrapping_add(row * rows.stride);
        if args.activations == Activations::Exact {
            let format = match args.a_type {
                ElemType::F32 => Format::F32,
                ElemType::F16 => Format::F16,
                ElemType::Bf16 => Format::Bf16,
            };
            // SAFETY: the row is readable; a prepared row has room for whole vectors, since its stride is whole lines of the
            // widest.
            unsafe {
                let padded = args.k.next_multiple_of(S::LANES);
                decode_row(s, format, from, to.cast(), args.k, padded);
            }
            continue;
        }
        let blocks = args.k / 32;
        if args.activations == Activations::Fixed {
            with_panels!(args.b_format, F => with_elem!(args.a_type, E => s.run(fixed_rows::Round::<E, F> {
                from: from.cast(),
                to,
                blocks,
                format: PhantomData,
            })));
            continue;
        }
        let extra = with_panels!(args.b_format, F => if F::OFFSETS {
            Extra::Offset
        } else {
            Extra::Zero { zero: zero::<S, F>() as i32, split: F::SPLIT }
        });
        with_elem!(args.a_type, E => s.run(Round::<E> { from: from.cast(), to, rows, blocks, extra, elem: PhantomData }));
    }
}

struct Round<E> {
    from: *const E,
    to: *mut u8,
    rows: Rows,
    blocks: usize,
    extra: Extra,
    elem: PhantomData<E>,
}

impl<E: Elem> Task for Round<E> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for block in 0..self.blocks {
            let mut q = [0_i32; 32];
            let mut wholes = [s.splat(0.0); 4];
            // SAFETY: the block's elements are readable; a prepared row has places for all that is written of it.
            unsafe {
                let from = self.from.add(block * 32);
                let (mut greatest, mut nothing) = (s.splat(0.0), s.splat(0.0));
                for at in (0..32).step_by(S::LANES) {
                    let x = E::load(s, from.add(at));
                    greatest = s.max(greatest, s.abs(x));
                    nothing = s.add(nothing, s.sub(x, x));
                }
                let mut amax = s.largest(greatest);
                // x − x is 0 but for NaN and infinity, which have no rounding to 8 bits and make the whole block NaN.
                if s.sum(nothing) != 0.0 {
                    amax = f32::NAN;
                }
                let id = if amax == 0.0 { 0.0 } else { 127.0 / amax };
                let factor = s.splat(id);
                for at in (0..32).step_by(S::LANES) {
                    let scaled = s.mul(E::load(s, from.add(at)), factor);
                    // An id that overflowed gives infinities, and NaN for zeros.
                    let bounded = s.min(s.splat(127.0), s.max(s.splat(-127.0), scaled));
                    let whole = s.pick_less(
                        s.abs(bounded),
                        s.splat(128.0),
                        s.round(bounded),
                        s.splat(0.0),
                    );
                    s.store_words(q.as_mut_ptr().add(at).cast(), s.rounded(whole));
                    wholes[at / S::LANES] = whole;
                }
                // Four vectors of eight lanes, or two of sixteen.
                let lanes = s.sum4(wholes);
                let sums = if S::LANES == 8 {
                    [lanes[0] + lanes[1], lanes[2] + lanes[3]]
                } else {
                    [lanes[0], lanes[1]]
                };
                let d = amax / 127.0;
                self.to
                    .add(self.rows.scales + 4 * block)
                    .cast::<f32>()
                    .write(d);
                let extras = match self.extra {
                    Extra::Offset => [(d * (sums[0] + sums[1])).to_bits(); 2],
                    Extra::Zero { zero, split: true } => sums.map(|sum| (zero * sum as i32) as u32),
                    Extra::Zero { zero, split: false } => {
                        [(zero * (sums[0] + sums[1]) as i32) as u32; 2]
                    }
                };
                self.to
                    .add(self.rows.extras + 8 * block)
                    .cast::<[u32; 2]>()
                    .write(extras);
                if self.rows.halves {
                    let to = self.to.add(block * 64).cast::<[i16; 32]>();
                    let mut narrow = [0; 32];
                    for i in 0..32 {
                        narrow[i] = q[i] as i16;
                    }
                    to.write(narrow);
                } else {
                    let to = self.to.add(block * 32).cast::<[i8; 32]>();
                    let mut narrow = [0; 32];
                    for i in 0..32 {
                        narrow[i] = q[i] as i8;
                    }
                    to.write(narrow);
                }
            }
        }
    }
}

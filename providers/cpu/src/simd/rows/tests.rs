//! The bodies against sums in f64, over every instruction set that runs here and over the emulated one of sixteen lanes.

mod choice;
mod elementwise;
mod movement;
mod norm;

use super::{Rows, RowsMut};
use crate::simd::ElemType;
use crate::simd::tests_support::{Memory, Random};
use core::ops::Range;

/// Widths around every multiple of the lanes and of four vectors.
const WIDTHS: [usize; 14] = [1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 131];
/// Elements behind each row, which hold NaN where they are read and 7 where they are not to be written.
const PAD: usize = 3;
const COUNT: usize = 5;

/// Rows to read.
fn source(ty: ElemType, width: usize, mut value: impl FnMut(usize, usize) -> f32) -> Memory {
    let stride = width + PAD;
    Memory::filled(ty, COUNT * stride, |i| {
        if i % stride < width {
            value(i / stride, i % stride)
        } else {
            f32::NAN
        }
    })
}

/// Rows to write.
fn target(ty: ElemType, width: usize) -> Memory {
    Memory::filled(ty, COUNT * (width + PAD), |_| 7.0)
}

fn rows(memory: &Memory, width: usize) -> Rows {
    Rows {
        at: memory.as_ptr(),
        ty: memory.ty,
        stride: (width + PAD) as i64,
    }
}

fn rows_mut(memory: &mut Memory, width: usize) -> RowsMut {
    RowsMut {
        at: memory.as_mut_ptr(),
        ty: memory.ty,
        stride: (width + PAD) as i64,
    }
}

fn noise(seed: u64, size: f32) -> impl FnMut(usize, usize) -> f32 {
    let mut random = Random(seed);
    move |_, _| size * random.unit()
}

/// Holds every element against what is wanted, with what it may be off by, and the padding against 7.
fn hold(out: &Memory, width: usize, name: &str, want: impl Fn(usize, usize) -> (f64, f64)) {
    for t in 0..COUNT {
        for d in 0..width + PAD {
            let got = out.get(t * (width + PAD) + d);
            if d >= width {
                assert!(
                    got == 7.0 || got.is_nan(),
                    "{name}: written behind row {t} of {width}"
                );
                continue;
            }
            let (want, limit) = want(t, d);
            let same = got == want || got.is_nan() && want.is_nan();
            assert!(
                same || (got - want).abs() <= limit,
                "{name}: {:?} row {t} of {width} at {d}: {got:e}; wanted {want:e} within {limit:e}",
                out.ty
            );
        }
    }
}

/// The ways in which a caller may cut the rows.
#[allow(
    clippy::single_range_in_vec_init,
    reason = "a list of ranges, of which the first has one"
)]
const CUTS: [&[Range<usize>]; 2] = [&[0..COUNT], &[0..1, 1..3, 3..COUNT]];

/// Runs a body in both ways and answers the one result that both must have.
fn cut_both_ways(name: &str, mut run: impl FnMut(&[Range<usize>]) -> Memory) -> Memory {
    let whole = run(CUTS[0]);
    assert!(whole == run(CUTS[1]), "{name}: rows depend on the range");
    whole
}

//! Products of rows of queries with keys: the one inner loop of both ways to the scores.

use super::super::lanes::Simd;
use super::super::quant::formats::Stored;

/// Accumulators of `R` query rows with `C` keys of `dim` elements.
///
/// Order of a product, the same whatever the tile: element *d* goes to lane *d* mod `LANES` of one accumulator, by a fused
/// multiply-add, in ascending *d*; a last, partial vector is filled with zeros. [`sums`] then adds the lanes by the tree of
/// [`Simd::sum4`].
///
/// # Safety
/// Rows of f32 lie `padded` apart at `query`, zero from `dim` on to whole vectors; each key has `dim` readable elements of `B`.
#[inline(always)]
pub unsafe fn dots<S: Simd, B: Stored, const R: usize, const C: usize>(
    s: S,
    query: *const f32,
    padded: usize,
    dim: usize,
    keys: [*const u8; C],
) -> [[S::V; C]; R] {
    let mut acc = [[s.splat(0.0); C]; R];
    let step = S::LANES.max(B::ELEMENTS);
    let whole = dim - dim % step;
    let mut block = 0;
    while block < whole {
        // SAFETY: block + step is at most dim.
        unsafe {
            let mut at = 0;
            // Inside a block, so that its scale is decoded once.
            while at < step {
                let mut x = [s.splat(0.0); R];
                for i in 0..R {
                    x[i] = s.load(query.add(i * padded + block + at));
                }
                for j in 0..C {
                    let key = keys[j].add(block / B::ELEMENTS * B::BYTES);
                    let y = B::lanes(s, key, at);
                    for i in 0..R {
                        acc[i][j] = s.fma(x[i], y, acc[i][j]);
                    }
                }
                at += S::LANES;
            }
        }
        block += step;
    }
    if whole < dim {
        // SAFETY: queries are padded to whole vectors; of the keys only what is left is read.
        unsafe {
            for j in 0..C {
                let y = B::lanes_head(s, keys[j], whole, dim - whole);
                for i in 0..R {
                    let x = s.load(query.add(i * padded + whole));
                    acc[i][j] = s.fma(x, y, acc[i][j]);
                }
            }
        }
    }
    acc
}

/// The sums over the lanes. `C` is two or four.
#[inline(always)]
pub fn sums<S: Simd, const R: usize, const C: usize>(s: S, acc: [[S::V; C]; R]) -> [[f32; C]; R] {
    const { assert!(C == 2 || C == 4) };
    let mut out = [[0.0; C]; R];
    if C == 4 {
        for i in 0..R {
            out[i].copy_from_slice(&s.sum4([acc[i][0], acc[i][1], acc[i][2], acc[i][3]]));
        }
    } else {
        for i in (0..R).step_by(2) {
            // An odd last row is summed twice.
            let k = (i + 1).min(R - 1);
            let four = s.sum4([acc[i][0], acc[i][1], acc[k][0], acc[k][1]]);
            out[i].copy_from_slice(&four[..2]);
            out[k].copy_from_slice(&four[2..]);
        }
    }
    out
}

//! Products of few query rows with the keys of a tile, decoded in registers; for all KV heads of an item.

use super::super::lanes::{Simd, Task};
use super::super::quant::formats::Stored;
use super::TILE;
use super::dots::{dots, sums};
use super::pages::{Found, touch};
use core::marker::PhantomData;

/// Keys that are read side by side, a quarter of a tile apart.
///
/// Each is the start of a stream that goes on through the heads and then through the following keys. Hardware fetches ahead
/// inside a page of memory only, so one stream pauses at each of them; four of them, in different pages, cover that.
const STREAMS: usize = 4;
const STRIDE: usize = TILE / STREAMS;

/// Multiplies `tiles` times `R` rows of each head with its keys, `C` at a time, and reads one byte of each cache line of the
/// values, in the same order, so that they are in the cache when they are wanted.
///
/// Groups of keys that hold one of `found.places` are computed whole.
///
/// Contract: `query` points at the first row of the first head, rows of `padded` floats, zero from `dim` on, `rows` rows to the
/// next head; keys have `dim` readable elements of `B` and lie `k_step` bytes from one head to the next, values `v_bytes` bytes
/// `v_step` apart; `scores` points at the first row's, [`TILE`] a row, `rows` rows to the next head.
pub struct FewScores<'a, B, const R: usize, const C: usize> {
    pub query: *const f32,
    pub padded: usize,
    pub dim: usize,
    pub rows: usize,
    pub tiles: usize,
    pub heads: usize,
    pub found: &'a Found,
    pub k_step: isize,
    pub v_step: isize,
    /// 0 if the values have been read.
    pub v_bytes: usize,
    pub scores: *mut f32,
    pub elem: PhantomData<B>,
}

impl<B: Stored, const R: usize, const C: usize> Task for FewScores<'_, B, R, C> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        const { assert!(STREAMS.is_multiple_of(C)) };
        let places = &self.found.places;
        for first in 0..STRIDE {
            let mut seen = false;
            for j in 0..STREAMS {
                seen |= places.contains(&(first + j * STRIDE));
            }
            if !seen {
                continue;
            }
            for head in 0..self.heads {
                if self.v_bytes > 0 {
                    for j in 0..STREAMS {
                        let value = self.found.values[first + j * STRIDE];
                        // SAFETY: every entry is a value inside the sequence, readable by the contract.
                        unsafe {
                            touch(
                                value.wrapping_offset(head as isize * self.v_step),
                                self.v_bytes,
                            )
                        };
                    }
                }
                let mut keys = [core::ptr::null(); STREAMS];
                for j in 0..STREAMS {
                    keys[j] = self.found.keys[first + j * STRIDE]
                        .wrapping_offset(head as isize * self.k_step);
                }
                for tile in 0..self.tiles {
                    let row = head * self.rows + tile * R;
                    for part in (0..STREAMS).step_by(C) {
                        let mut some = [core::ptr::null(); C];
                        some.copy_from_slice(&keys[part..part + C]);
                        // SAFETY: the contract of the struct.
                        unsafe {
                            let query = self.query.add(row * self.padded);
                            let acc = dots::<S, B, R, C>(s, query, self.padded, self.dim, some);
                            let sums = sums::<S, R, C>(s, acc);
                            for i in 0..R {
                                for j in 0..C {
                                    let place = first + (part + j) * STRIDE;
                                    self.scores.add((row + i) * TILE + place).write(sums[i][j]);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

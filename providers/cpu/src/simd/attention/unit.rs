//! One tile of keys taken into the rows of an item.
//!
//! Few rows decode keys and values in registers, all KV heads of the item together; many rows share a panel of them, head by head.

use super::super::lanes::Simd;
use super::item::padded;
use super::kv::{offset, with_kv};
use super::pages::{Found, Vectors};
use super::panel::{Pack, PanelScores, PanelValues, STRIP};
use super::scores::FewScores;
use super::softmax::{Weights, in_base_2};
use super::state::{Rows, rows_len};
use super::tile::{few_height, panel_height, with_few, with_height, with_width};
use super::values::Values;
use super::{AttentionArgs, TILE};
use core::marker::PhantomData;
use core::ops::Range;

/// Rows of an item for one KV head, at most.
pub const MOST_ROWS: usize = 126;
/// Floats of keys of a panel that are gone through for all rows before the next: half of the first-level cache.
const NEAR: usize = 4096;

/// Up to this many rows decode in registers, each tile of rows for itself; more share a panel.
const IN_REGISTERS: usize = 8;

/// Scratch memory, cut up.
pub struct Parts<'a> {
    /// Products and then weights, [`TILE`] a row, by KV head.
    pub scores: &'a mut [f32],
    /// What a row's output so far is to be multiplied by.
    pub factors: &'a mut [f32],
    /// A panel of keys.
    pub keys: &'a mut [f32],
    /// A panel of values.
    pub values: &'a mut [f32],
}

/// Floats of the parts, in their order.
pub fn sizes<S: Simd>(args: &AttentionArgs, rows: usize, heads: usize) -> [usize; 4] {
    let (d, dv) = padded::<S>(args);
    [heads * rows * TILE, rows, TILE * d, TILE * dv]
}

/// A tile and the rows that it is taken into.
pub struct Unit<'a, S> {
    pub s: S,
    pub args: &'a AttentionArgs,
    /// First and behind the last place that each row sees. Both ends ascend.
    pub ranges: &'a [[u8; 2]],
    /// KV heads of the item.
    pub heads: usize,
    /// Queries, by KV head.
    pub query: &'a [f32],
    pub found: &'a Found,
    /// The tile that follows.
    pub next: Option<&'a Found>,
}

impl<S: Simd> Unit<'_, S> {
    fn keys<'f>(&self, found: &'f Found, head: usize) -> Vectors<'f> {
        let step = offset(self.args.k_type, self.args.k_strides[2]);
        Vectors::new(&found.keys, head as isize * step)
    }

    fn values<'f>(&self, found: &'f Found, head: usize) -> Vectors<'f> {
        let step = offset(self.args.v_type, self.args.v_strides[2]);
        Vectors::new(&found.values, head as isize * step)
    }

    fn sees(&self, row: usize) -> Range<usize> {
        let [start, end] = self.ranges[row];
        usize::from(start)..usize::from(end)
    }

    /// Takes the tile into the rows, which have `gathered` so far, by KV head.
    ///
    /// # Safety
    /// The contract of [`super::run_item`]; `found` is the tile's.
    pub unsafe fn run(&self, gathered: &mut [f32], parts: &mut Parts<'_>) {
        let sees = |range: &[u8; 2]| range[0] < range[1];
        let (mut first, mut end) = (0, self.ranges.len());
        // Both ends ascend, so those who see anything are neighbours.
        while first < end && !sees(&self.ranges[first]) {
            first += 1;
        }
        while first < end && !sees(&self.ranges[end - 1]) {
            end -= 1;
        }
        if first == end {
            return;
        }
        let (rows, (_, dv)) = (self.ranges.len(), padded::<S>(self.args));
        let few = rows <= IN_REGISTERS;
        if few {
            // SAFETY: the caller's contract, passed on.
            unsafe { self.few_scores(parts) };
        }
        let unit = rows_len(rows, dv);
        for (head, memory) in gathered.chunks_exact_mut(unit).enumerate() {
            let mut rows_of = Rows::of(memory, rows, dv);
            let active = first..end;
            // SAFETY: the caller's contract, passed on.
            unsafe {
                if !few {
                    self.panel_scores(head, parts, active.clone());
                }
                let scores = &mut parts.scores[if few { head * rows * TILE } else { 0 }..];
                self.weights(&mut rows_of, scores, parts.factors, active.clone());
                if few {
                    self.few_values(head, &mut rows_of, scores, parts.factors, active);
                } else {
                    let (factors, panel) = (&*parts.factors, &mut *parts.values);
                    self.panel_values(head, &mut rows_of, scores, factors, panel, active);
                }
            }
        }
    }

    /// Products of few rows with the keys that any of them sees, of all heads.
    ///
    /// # Safety
    /// As for [`Unit::run`].
    unsafe fn few_scores(&self, parts: &mut Parts<'_>) {
        let args = self.args;
        let (padded, _) = padded::<S>(args);
        let rows = self.ranges.len();
        let (k_step, v_step) = (
            offset(args.k_type, args.k_strides[2]),
            offset(args.v_type, args.v_strides[2]),
        );
        let mut row = 0;
        while row < rows {
            let height = few_height(rows - row);
            // Tiles of one height go together.
            let tiles = (1..)
                .take_while(|n| {
                    few_height(rows - row - (n - 1) * height) == height && n * height <= rows - row
                })
                .count();
            let query = self.query[row * padded..].as_ptr();
            let scores = parts.scores[row * TILE..].as_mut_ptr();
            let v_bytes = if row == 0 {
                args.v_type.bytes_for(args.value_dim)
            } else {
                0
            };
            with_few!(S, height, R, C, V => {
                let _ = V;
                with_kv!(args.k_type, B => self.s.run(FewScores::<B, R, C> {
                    query, padded, dim: args.head_dim, rows, tiles, heads: self.heads, found: self.found, k_step, v_step,
                    v_bytes, scores, elem: PhantomData,
                }))
            });
            row += tiles * height;
        }
    }

    /// Products of the active rows with the keys that they see, from a panel, which is gone through in parts that stay in
    /// the first-level cache.
    ///
    /// # Safety
    /// As for [`Unit::run`].
    unsafe fn panel_scores(&self, head: usize, parts: &mut Parts<'_>, active: Range<usize>) {
        let (padded, _) = padded::<S>(self.args);
        let step = (NEAR / padded.max(1) / 8 * 8).clamp(8, TILE);
        let query = &self.query[head * self.ranges.len() * padded..];
        let to = parts.keys.as_mut_ptr();
        let ahead = match self.next {
            _ if head + 1 < self.heads => Some(self.keys(self.found, head + 1)),
            next => next.map(|found| self.keys(found, 0)),
        };
        for start in (0..TILE).step_by(step) {
            let end = (start + step).min(TILE);
            let places = self.found.places.start.max(start)..self.found.places.end.min(end);
            if places.is_empty() {
                continue;
            }
            with_kv!(self.args.k_type, B => self.s.run(Pack::<B> {
                vectors: self.keys(self.found, head),
                ahead,
                places,
                dim: self.args.head_dim,
                padded,
                strips: false,
                to,
                elem: PhantomData,
            }));
            let mut row = active.start;
            while row < active.end {
                let height = panel_height::<S>(active.end - row);
                // Ends ascend, so this is what any of these rows sees.
                let seen = start.max(self.sees(row).start / 4 * 4)
                    ..end.min(self.sees(row + height - 1).end);
                if !seen.is_empty() {
                    let query = query[row * padded..(row + height) * padded].as_ptr();
                    let scores = parts.scores[row * TILE..(row + height) * TILE].as_mut_ptr();
                    with_height!(S, height, R => self.s.run(PanelScores::<R, 4> {
                        query, padded, keys: to, places: seen, scores,
                    }));
                }
                row += height;
            }
        }
    }

    /// From products to weights, row by row.
    fn weights(
        &self,
        rows: &mut Rows<'_>,
        scores: &mut [f32],
        factors: &mut [f32],
        active: Range<usize>,
    ) {
        let scores = scores.as_chunks_mut::<TILE>().0;
        let (scale, cap) = in_base_2(self.args.scale, self.args.softcap);
        for row in active {
            let (running, factor) = self.s.run(Weights {
                scores: &mut scores[row],
                visible: self.sees(row),
                scale,
                cap,
                running: rows.running(row),
            });
            rows.set_running(row, running);
            factors[row] = factor;
        }
    }

    /// Calls `add` with pieces that cover what the active rows see: first row, height, places. Heights are those that `next`
    /// gives for the rows left, or 1. For each row the places ascend.
    fn pieces(
        &self,
        active: Range<usize>,
        next: impl Fn(usize) -> usize,
        mut add: impl FnMut(usize, usize, Range<usize>),
    ) {
        let mut row = active.start;
        while row < active.end {
            let rows = row..row + next(active.end - row);
            // Ends ascend, so this is what all of these rows see.
            let common = self.sees(rows.end - 1).start..self.sees(row).end;
            if common.is_empty() {
                rows.clone().for_each(|row| add(row, 1, self.sees(row)));
            } else {
                for row in rows
                    .clone()
                    .filter(|&row| self.sees(row).start < common.start)
                {
                    add(row, 1, self.sees(row).start..common.start);
                }
                add(row, rows.len(), common.clone());
                for row in rows.clone().filter(|&row| self.sees(row).end > common.end) {
                    add(row, 1, common.end..self.sees(row).end);
                }
            }
            row = rows.end;
        }
    }

    /// The factors of `R` rows, which are due before the first key that a row sees; multiplying by one changes no bit.
    fn due<const R: usize>(&self, factors: &[f32], row: usize, places: &Range<usize>) -> [f32; R] {
        core::array::from_fn(|i| {
            if self.sees(row + i).start == places.start {
                factors[row + i]
            } else {
                1.0
            }
        })
    }

    /// Adds the weighted values of the tile, decoded in registers.
    ///
    /// # Safety
    /// As for [`Unit::run`].
    unsafe fn few_values(
        &self,
        head: usize,
        rows: &mut Rows<'_>,
        scores: &[f32],
        factors: &[f32],
        active: Range<usize>,
    ) {
        let (_, padded) = padded::<S>(self.args);
        let values = self.values(self.found, head);
        let dim = self.args.value_dim;
        self.pieces(active, few_height, |row, height, places| {
            let out = rows.out_from(row);
            let weights = scores[row * TILE..(row + height) * TILE].as_ptr();
            with_few!(S, height, R, K, C => {
                let _ = K;
                let factors = self.due::<R>(factors, row, &places);
                with_kv!(self.args.v_type, B => self.s.run(Values::<B, R, C> {
                    out, padded, dim, weights, factors, values, places, elem: PhantomData,
                }))
            });
        });
    }

    /// The same from a panel, strip by strip.
    ///
    /// # Safety
    /// As for [`Unit::run`].
    unsafe fn panel_values(
        &self,
        head: usize,
        rows: &mut Rows<'_>,
        scores: &[f32],
        factors: &[f32],
        panel: &mut [f32],
        active: Range<usize>,
    ) {
        let (_, padded) = padded::<S>(self.args);
        let panel = panel.as_mut_ptr();
        let ahead = match self.next {
            _ if head + 1 < self.heads => Some(self.values(self.found, head + 1)),
            next => next.map(|found| self.values(found, 0)),
        };
        with_kv!(self.args.v_type, B => self.s.run(Pack::<B> {
            vectors: self.values(self.found, head),
            ahead,
            places: self.found.places.clone(),
            dim: self.args.value_dim,
            padded,
            strips: true,
            to: panel,
            elem: PhantomData,
        }));
        for first in (0..padded / S::LANES).step_by(STRIP) {
            let at = first * S::LANES;
            let values = panel.wrapping_add(at * TILE).cast_const();
            let width = STRIP.min(padded / S::LANES - first);
            self.pieces(active.clone(), panel_height::<S>, |row, height, places| {
                let out = rows.out_from(row).wrapping_add(at);
                let weights = scores[row * TILE..(row + height) * TILE].as_ptr();
                with_height!(S, height, R => {
                    let factors = self.due::<R>(factors, row, &places);
                    with_width!(width, N => self.s.run(PanelValues::<R, N> {
                        out, padded, weights, factors, values, places,
                    }));
                });
            });
        }
    }
}

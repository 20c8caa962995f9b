//! Scores of experts in lanes, and the greatest of them one after another.
//!
//! Tens to hundreds of experts, of which a few are wanted: finding the greatest so many times, each a pass over vectors that lie in
//! the nearest cache, is less work than sorting.

use crate::simd::elem::{Elem, with_elem};
use crate::simd::lanes::{Simd, Task};
use crate::simd::math::exp;
use crate::simd::{ElemType, Isa, with_isa};
use core::marker::PhantomData;
use core::ops::Range;

/// The choice for rows of logits. Strides are in elements; inside a row of logits elements are adjacent.
#[derive(Clone, Copy, Debug)]
pub struct RouterArgs {
    /// First logit, `[tokens, experts]`.
    pub logits: *const u8,
    /// Element type of logits.
    pub logits_type: ElemType,
    /// From one token of logits to the next.
    pub logits_stride: i64,
    /// First bias, `[experts]`; null for none.
    pub bias: *const f32,
    /// From one bias to the next.
    pub bias_stride: i64,
    /// First weight, `[tokens, wanted]`.
    pub weights: *mut f32,
    /// From one token's weights to the next, and from one to its neighbour.
    pub weight_strides: [i64; 2],
    /// First chosen number, `[tokens, wanted]`.
    pub chosen: *mut i32,
    /// As for the weights.
    pub chosen_strides: [i64; 2],
    /// Number of experts.
    pub experts: usize,
    /// How many are chosen, no more than there are in the chosen groups.
    pub wanted: usize,
    /// Scores are sigmoids and not shares.
    pub sigmoid: bool,
    /// Groups, which divide the experts.
    pub groups: usize,
    /// Groups that are chosen from, at most all.
    pub top_groups: usize,
    /// How many of a group's greatest make its score.
    pub group_score: usize,
    /// Weights are divided by their sum.
    pub renormalise: bool,
    /// What weights are multiplied by.
    pub scale: f32,
}

// SAFETY: the struct is plain data. Whoever calls `router` vouches for the memory on every thread that calls it.
unsafe impl Send for RouterArgs {}
// SAFETY: as above.
unsafe impl Sync for RouterArgs {}

/// Lanes of the widest vectors: parts of the scratch memory are whole vectors of any.
const WIDEST: usize = 16;

impl RouterArgs {
    fn padded(&self) -> usize {
        self.experts.next_multiple_of(WIDEST)
    }

    /// Floats of scratch memory that a call needs: scores, keys, a group's keys, and scores of groups.
    pub fn scratch_len(&self) -> usize {
        3 * self.padded() + self.groups.next_multiple_of(WIDEST)
    }
}

/// Computes the rows of these tokens. Disjoint ranges may run at once, each with its own scratch memory. Neither allocates nor
/// blocks.
///
/// # Safety
/// The machine has `isa`. The tokens' logits and the biases are readable, their weights and numbers writable, aligned to their
/// elements, without overlap.
///
/// # Panics
/// If `scratch` is shorter than [`RouterArgs::scratch_len`].
pub unsafe fn router(isa: Isa, args: &RouterArgs, tokens: Range<usize>, scratch: &mut [f32]) {
    with_isa!(isa, s => router_on(s, args, tokens, scratch));
}

pub(super) fn router_on<S: Simd>(
    s: S,
    args: &RouterArgs,
    tokens: Range<usize>,
    scratch: &mut [f32],
) {
    let (scores, rest) = scratch[..args.scratch_len()].split_at_mut(args.padded());
    let (keys, rest) = rest.split_at_mut(args.padded());
    let (member, groups) = rest.split_at_mut(args.padded());
    with_elem!(args.logits_type, X => s.run(Router::<X> {
        args,
        tokens,
        scores,
        keys,
        member,
        groups,
        elem: PhantomData,
    }));
}

struct Router<'a, X> {
    args: &'a RouterArgs,
    tokens: Range<usize>,
    scores: &'a mut [f32],
    keys: &'a mut [f32],
    member: &'a mut [f32],
    groups: &'a mut [f32],
    elem: PhantomData<X>,
}

impl<X: Elem> Task for Router<'_, X> {
    type Out = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let args = self.args;
        for t in self.tokens {
            let logits = args
                .logits
                .cast::<X>()
                .wrapping_offset(t as isize * args.logits_stride as isize);
            // SAFETY: the row has `experts` logits.
            unsafe { decode(s, logits, args.experts, self.scores) };
            if args.sigmoid {
                sigmoids(s, self.scores);
            } else {
                shares(s, self.scores);
            }
            self.keys.copy_from_slice(self.scores);
            if !args.bias.is_null() {
                for (e, key) in self.keys[..args.experts].iter_mut().enumerate() {
                    // SAFETY: there is a bias for each expert.
                    *key += unsafe {
                        args.bias
                            .wrapping_offset(e as isize * args.bias_stride as isize)
                            .read()
                    };
                }
            }
            // Behind the last expert nothing is ever chosen.
            self.keys[args.experts..].fill(f32::NEG_INFINITY);
            leave_groups(s, args, self.keys, self.member, self.groups);
            // SAFETY: the outputs are the caller's, with `wanted` elements a token.
            unsafe { choose(s, args, t, self.keys, self.scores) };
        }
    }
}

/// Decodes a row, −∞ behind its end.
///
/// # Safety
/// `n` elements are readable; `to` is whole vectors, enough for them.
#[inline(always)]
unsafe fn decode<S: Simd, X: Elem>(s: S, from: *const X, n: usize, to: &mut [f32]) {
    let mut at = 0;
    while at < to.len() {
        let target = to[at..].as_mut_ptr();
        // SAFETY: the scratch memory is whole vectors of any width; a head's elements end with the row.
        unsafe {
            if at + S::LANES <= n {
                s.store(target, X::load(s, from.add(at)));
            } else {
                s.store(target, s.splat(f32::NEG_INFINITY));
                if at < n {
                    let head = s.head(n - at);
                    s.store_head(target, X::load_head(s, from.add(at), head), head);
                }
            }
        }
        at += S::LANES;
    }
}

/// Applies `f` to every vector of a padded row.
#[inline(always)]
fn map<S: Simd>(s: S, row: &mut [f32], mut f: impl FnMut(S::V) -> S::V) {
    for part in row.chunks_exact_mut(S::LANES) {
        // SAFETY: the part is a vector.
        unsafe { s.store(part.as_mut_ptr(), f(s.load(part.as_ptr()))) };
    }
}

/// x to 1 / (1 + e⁻ˣ); −∞ to 0.
#[inline(always)]
fn sigmoids<S: Simd>(s: S, row: &mut [f32]) {
    let (zero, one) = (s.splat(0.0), s.splat(1.0));
    map(s, row, |x| s.div(one, s.add(one, exp(s, s.sub(zero, x)))));
}

/// A row to its softmax.
#[inline(always)]
fn shares<S: Simd>(s: S, row: &mut [f32]) {
    let mut greatest = s.splat(f32::NEG_INFINITY);
    map(s, row, |x| {
        greatest = s.max(x, greatest);
        x
    });
    let base = s.splat(s.largest(greatest));
    let mut sum = s.splat(0.0);
    map(s, row, |x| {
        let e = exp(s, s.sub(x, base));
        sum = s.add(sum, e);
        e
    });
    let total = s.splat(s.sum(sum));
    map(s, row, |e| s.div(e, total));
}

/// The place of the greatest number of a padded row, of equal ones the first. The row has one above −∞.
#[inline(always)]
fn greatest<S: Simd>(s: S, row: &[f32]) -> usize {
    let mut numbers = [0.0_f32; WIDEST];
    for (i, number) in numbers.iter_mut().enumerate() {
        *number = i as f32;
    }
    // SAFETY: the array has as many floats as the widest vector.
    let mut here = unsafe { s.load(numbers.as_ptr()) };
    let step = s.splat(S::LANES as f32);
    let (mut best, mut place) = (s.splat(f32::NEG_INFINITY), here);
    for part in row.chunks_exact(S::LANES) {
        // SAFETY: the part is a vector.
        let v = unsafe { s.load(part.as_ptr()) };
        // Only what is greater replaces, so each lane keeps its first. Places are whole numbers far below 2^24.
        place = s.pick_less(best, v, here, place);
        best = s.pick_less(best, v, v, best);
        here = s.add(here, step);
    }
    let (mut bests, mut places) = ([0.0_f32; WIDEST], [0.0_f32; WIDEST]);
    // SAFETY: as above.
    unsafe {
        s.store(bests.as_mut_ptr(), best);
        s.store(places.as_mut_ptr(), place);
    }
    let mut first = 0;
    for lane in 1..S::LANES {
        let (a, b) = (bests[lane], bests[first]);
        if a > b || a == b && places[lane] < places[first] {
            first = lane;
        }
    }
    places[first] as usize
}

/// Puts the experts of groups that are not chosen at −∞.
#[inline(always)]
fn leave_groups<S: Simd>(
    s: S,
    args: &RouterArgs,
    keys: &mut [f32],
    member: &mut [f32],
    groups: &mut [f32],
) {
    if args.top_groups >= args.groups {
        return;
    }
    let size = args.experts / args.groups;
    let padded = size.next_multiple_of(WIDEST);
    groups.fill(f32::NEG_INFINITY);
    for (g, score) in groups[..args.groups].iter_mut().enumerate() {
        member[..size].copy_from_slice(&keys[g * size..(g + 1) * size]);
        member[size..padded].fill(f32::NEG_INFINITY);
        *score = 0.0;
        for _ in 0..args.group_score {
            let e = greatest(s, &member[..padded]);
            *score += member[e];
            member[e] = f32::NEG_INFINITY;
        }
    }
    // Those that are chosen are marked by +∞, which no score is.
    for _ in 0..args.top_groups {
        groups[greatest_finite(s, groups)] = f32::INFINITY;
    }
    for g in 0..args.groups {
        if groups[g] != f32::INFINITY {
            keys[g * size..(g + 1) * size].fill(f32::NEG_INFINITY);
        }
    }
}

/// Like [`greatest`], +∞ left out.
#[inline(always)]
fn greatest_finite<S: Simd>(_: S, row: &[f32]) -> usize {
    let mut best = usize::MAX;
    for (i, &v) in row.iter().enumerate() {
        if v < f32::INFINITY && (best == usize::MAX || v > row[best]) {
            best = i;
        }
    }
    if best == usize::MAX { 0 } else { best }
}

/// Takes the greatest one after another, and writes their numbers and weights.
///
/// # Safety
/// `wanted` weights and numbers of token `t` are writable.
#[inline(always)]
unsafe fn choose<S: Simd>(s: S, args: &RouterArgs, t: usize, keys: &mut [f32], scores: &[f32]) {
    let place = |strides: [i64; 2], slot: usize| {
        t as isize * strides[0] as isize + slot as isize * strides[1] as isize
    };
    let mut sum = 0.0;
    for slot in 0..args.wanted {
        let e = greatest(s, keys);
        keys[e] = f32::NEG_INFINITY;
        sum += scores[e];
        // SAFETY: by the contract.
        unsafe {
            args.chosen
                .wrapping_offset(place(args.chosen_strides, slot))
                .write(e as i32);
            args.weights
                .wrapping_offset(place(args.weight_strides, slot))
                .write(scores[e]);
        }
    }
    let factor = if args.renormalise && sum > 0.0 {
        args.scale / sum
    } else {
        args.scale
    };
    for slot in 0..args.wanted {
        let weight = args
            .weights
            .wrapping_offset(place(args.weight_strides, slot));
        // SAFETY: by the contract; written above.
        unsafe { weight.write(weight.read() * factor) };
    }
}

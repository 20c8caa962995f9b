//! Whether two views share memory.

use super::View;
use overt_kernels::dtype;

/// How two views meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overlap {
    /// No byte is in both.
    None,
    /// They are the same elements in the same order.
    Same,
    /// Some bytes are, or may be, in both.
    Partial,
}

/// Compares two views whose first elements are at `a_start` and `b_start` in one address space.
///
/// Exact where both have one element size and the same strides, nested as slices of one tensor are (K and V halves of one
/// cache); elsewhere two views whose ranges meet count as overlapping.
pub(crate) fn overlap(a: &View, a_start: u64, b: &View, b_start: u64) -> Overlap {
    if a.span_bytes == 0 || b.span_bytes == 0 {
        return Overlap::None;
    }
    if a_start >= b_start.saturating_add(b.span_bytes)
        || b_start >= a_start.saturating_add(a.span_bytes)
    {
        return Overlap::None;
    }
    if a_start == b_start && a.dtype == b.dtype && same_elements(a, b) {
        return Overlap::Same;
    }
    if interleaved(a, a_start, b, b_start) {
        Overlap::None
    } else {
        Overlap::Partial
    }
}

fn same_elements(a: &View, b: &View) -> bool {
    a.shape() == b.shape()
        && (0..a.rank as usize).all(|d| a.shape[d] <= 1 || a.strides[d] == b.strides[d])
}

/// Whether the views lie side by side inside each other's gaps.
fn interleaved(a: &View, a_start: u64, b: &View, b_start: u64) -> bool {
    let (Some(size), Some(other)) = (dtype::element_bytes(a.dtype), dtype::element_bytes(b.dtype))
    else {
        return false;
    };
    let delta = a_start.abs_diff(b_start);
    if size == 0 || size != other || !delta.is_multiple_of(size) || a.rank != b.rank {
        return false;
    }
    // Dimensions by falling stride, with how far each of the two views steps along them.
    let mut steps: Vec<(i64, i64, i64)> = Vec::with_capacity(a.rank as usize);
    for d in 0..a.rank as usize {
        match (a.shape[d] > 1, b.shape[d] > 1) {
            (false, false) => {}
            (true, true) if a.strides[d] != b.strides[d] => return false,
            (true, _) => steps.push((a.strides[d], a.shape[d] - 1, b.shape[d] - 1)),
            (false, true) => steps.push((b.strides[d], a.shape[d] - 1, b.shape[d] - 1)),
        }
    }
    steps.sort_unstable_by_key(|step| std::cmp::Reverse(step.0));
    // Nested: what lies below a dimension stays within one of its strides, for both views together.
    let mut below = 0i64;
    for (stride, a_steps, b_steps) in steps.iter().rev() {
        if *stride <= below {
            return false;
        }
        below += stride * (*a_steps).max(*b_steps);
    }
    let (from, to, delta) = if a_start <= b_start {
        (1, 2, (delta / size) as i64)
    } else {
        (2, 1, (delta / size) as i64)
    };
    !reachable(&steps, delta, from, to)
}

/// Whether `delta` is Σ(iᵈ − jᵈ)·strideᵈ for some indices of the view that starts first (`i`) and the other (`j`).
fn reachable(steps: &[(i64, i64, i64)], delta: i64, first: usize, second: usize) -> bool {
    let Some((head, rest)) = steps.split_first() else {
        return delta == 0;
    };
    let pick = |n: usize| if n == 1 { head.1 } else { head.2 };
    let quotient = delta.div_euclid(head.0);
    // What the lower dimensions add lies within one stride either way, so only these two steps can lead there.
    [quotient, quotient + 1]
        .into_iter()
        .filter(|k| *k <= pick(first) && -*k <= pick(second))
        .any(|k| reachable(rest, delta - k * head.0, first, second))
}

#[cfg(test)]
mod tests {
    use super::*;
    use overt_kernels::dtype::{BF16, F32};

    fn brute(a: &View, a_start: u64, b: &View, b_start: u64) -> bool {
        let bytes = |v: &View, start: u64| {
            let size = dtype::element_bytes(v.dtype).unwrap();
            let mut set = std::collections::BTreeSet::new();
            for flat in 0..v.elements {
                let (mut rest, mut offset) = (flat, 0);
                for d in (0..v.rank as usize).rev() {
                    offset += rest % v.shape[d] * v.strides[d];
                    rest /= v.shape[d];
                }
                (0..size).for_each(|byte| {
                    set.insert(start + offset as u64 * size + byte);
                });
            }
            set
        };
        !bytes(a, a_start).is_disjoint(&bytes(b, b_start))
    }

    /// Halves of one tensor are apart, shifted windows are not, and a claim of "apart" is always true.
    #[test]
    fn apart_is_never_claimed_wrongly() {
        let mut apart = 0;
        for (shape, strides) in [
            ([3i64, 2, 4], [16i64, 4, 1]),
            ([3, 2, 4], [20, 8, 1]),
            ([2, 3, 2], [24, 4, 2]),
            ([1, 2, 4], [1, 8, 1]),
            ([4, 1, 3], [3, 77, 1]),
        ] {
            let a = View::strided(F32, &shape, &strides).unwrap();
            for other in [shape, [shape[0], 1, shape[2]]] {
                let b = View::strided(F32, &other, &strides).unwrap();
                for offset in 0..80u64 {
                    let (x, y) = (0, offset * 4);
                    for (got, truth) in [
                        (overlap(&a, x, &b, y), brute(&a, x, &b, y)),
                        (overlap(&b, y, &a, x), brute(&a, x, &b, y)),
                    ] {
                        if got == Overlap::None {
                            assert!(
                                !truth,
                                "{shape:?} {strides:?} {other:?} at {offset}: claimed apart"
                            );
                            apart += usize::from(offset < 16);
                        } else {
                            assert!(
                                truth,
                                "{shape:?} {strides:?} {other:?} at {offset}: claimed {got:?}"
                            );
                        }
                    }
                }
            }
        }
        assert!(apart > 20, "the interleaved case was never seen");
    }

    #[test]
    fn halves_of_one_cache_are_apart_and_other_dtypes_are_not_argued() {
        // [N,2,P,H,D] viewed as K = [:,0] and V = [:,1].
        let k = View::strided(BF16, &[5, 16, 2, 64], &[2 * 16 * 2 * 64, 128, 64, 1]).unwrap();
        assert_eq!(overlap(&k, 0, &k, 16 * 2 * 64 * 2), Overlap::None);
        assert_eq!(overlap(&k, 0, &k, 16 * 2 * 64 * 2 - 2), Overlap::Partial);
        assert_eq!(overlap(&k, 0, &k, 0), Overlap::Same);
        let f = View::strided(F32, &[5, 16, 2, 64], &[16 * 2 * 64, 128, 64, 1]).unwrap();
        assert_eq!(overlap(&k, 0, &f, 16 * 2 * 64 * 2), Overlap::Partial);
    }
}

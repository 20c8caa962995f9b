//! Where kernels are verified.

use crate::op::Geometry;

/// Around vectors, unrolled vectors and the pieces that threads take.
const LENGTHS: [i64; 13] = [
    1, 0, 7, 8, 31, 127, 128, 129, 1000, 65_535, 65_536, 65_537, 300_001,
];

pub(super) fn geometries() -> Vec<Geometry> {
    LENGTHS
        .into_iter()
        .map(|n| Geometry::named(format!("n{n}")).symbols(&[("N", n)]))
        .collect()
}

//! Where kernels are verified.

use crate::dtype::{BF16, F16, F32, Shown};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;

const WIDTHS: [i64; 8] = [0, 1, 3, 31, 64, 100, 576, 2880];
const ROWS: [i64; 6] = [0, 1, 2, 7, 16, 33];
const PADDING: [i64; 2] = [0, 5];
const DTYPES: [overt_abi::OvertDType; 3] = [F32, F16, BF16];

pub(super) fn geometries() -> Vec<Geometry> {
    pairwise(&[WIDTHS.len(), ROWS.len(), 2, 2, 2, 3, 3])
        .into_iter()
        .map(|row| {
            let (d, t) = (WIDTHS[row[0]], ROWS[row[1]]);
            let pad = [PADDING[row[2]], PADDING[row[3]], PADDING[row[4]]];
            let (a, b) = (DTYPES[row[5]], DTYPES[row[6]]);
            let name = format!(
                "t{t}_d{d}_{}_{}_pad{}_{}_{}",
                Shown(a),
                Shown(b),
                pad[0],
                pad[1],
                pad[2]
            );
            Geometry::named(name)
                .symbols(&[("T", t), ("D", d)])
                .dtypes(&[("a", a), ("b", b)])
                .padded(&[("a", pad[0]), ("b", pad[1]), ("out", pad[2])])
        })
        .collect()
}

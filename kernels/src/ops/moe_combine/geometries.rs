//! Where kernels are verified.

use crate::dtype::{BF16, F16, F32, Shown};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;

const TOKENS: [i64; 6] = [1, 0, 2, 7, 33, 64];
/// The numbers of experts that models choose, one, more than any, and none.
const SLOTS: [i64; 7] = [8, 1, 2, 4, 6, 16, 0];
const WIDTHS: [i64; 9] = [64, 1, 7, 31, 100, 768, 2048, 0, 2880];
const DTYPES: [overt_abi::OvertDType; 3] = [F32, BF16, F16];
const PADDING: [[i64; 4]; 3] = [[0, 0, 0, 0], [3, 1, 5, 2], [8, 0, 0, 16]];

pub(super) fn geometries() -> Vec<Geometry> {
    pairwise(&[
        TOKENS.len(),
        SLOTS.len(),
        WIDTHS.len(),
        3,
        3,
        2,
        PADDING.len(),
    ])
    .into_iter()
    .map(|row| {
        let (t, s, d) = (TOKENS[row[0]], SLOTS[row[1]], WIDTHS[row[2]]);
        let (x, out) = (DTYPES[row[3]], DTYPES[row[4]]);
        let pad = PADDING[row[6]];
        let shared = row[5] == 1;
        let name = format!(
            "t{t}_s{s}_d{d}_{}_{}{}_pad{}_{}_{}_{}",
            Shown(x),
            Shown(out),
            if shared { "_shared" } else { "" },
            pad[0],
            pad[1],
            pad[2],
            pad[3]
        );
        let geometry = Geometry::named(name)
            .symbols(&[("T", t), ("S", s), ("D", d)])
            .dtypes(&[("x", x), ("out", out)])
            .padded(&[
                ("x", pad[0]),
                ("weights", pad[1]),
                ("shared", pad[2]),
                ("out", pad[3]),
            ]);
        if shared {
            // Its type goes round with the output's, so that it differs from that of `x` in some.
            geometry.dtypes(&[("shared", out)]).with("shared")
        } else {
            geometry
        }
    })
    .collect()
}

//! Where kernels are verified.

use crate::dtype::{BF16, F16, F32, Shown};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;

const ROWS: [i64; 8] = [1, 0, 2, 3, 5, 16, 17, 64];
const COLUMNS: [i64; 10] = [64, 1, 0, 7, 31, 33, 100, 576, 1536, 8];
const DEPTHS: [i64; 10] = [64, 1, 7, 31, 33, 100, 576, 1536, 8, 0];
const DTYPES: [overt_abi::OvertDType; 3] = [F32, BF16, F16];
const PADDING: [[i64; 3]; 4] = [[0, 0, 0], [3, 0, 5], [0, 16, 0], [8, 1, 0]];

/// Products of one geometry beyond which its columns are cut to a smaller odd number, so that a scalar kernel in a debug
/// build verifies the whole list in seconds. The cut keeps the rows and the depth.
const MOST_PRODUCTS: i64 = 6_000_000;

pub(super) fn geometries() -> Vec<Geometry> {
    let mut out: Vec<Geometry> = Vec::new();
    for row in pairwise(&[
        ROWS.len(),
        COLUMNS.len(),
        DEPTHS.len(),
        3,
        3,
        3,
        2,
        PADDING.len(),
    ]) {
        let (m, mut n, k) = (ROWS[row[0]], COLUMNS[row[1]], DEPTHS[row[2]]);
        if m * n * k > MOST_PRODUCTS {
            n = 57;
        }
        let (a, b, to) = (DTYPES[row[3]], DTYPES[row[4]], DTYPES[row[5]]);
        let bias = row[6] == 1;
        let pad = PADDING[row[7]];
        let name = format!(
            "m{m}_n{n}_k{k}_{}_{}_{}{}_pad{}_{}_{}",
            Shown(a),
            Shown(b),
            Shown(to),
            if bias { "_bias" } else { "" },
            pad[0],
            pad[1],
            pad[2]
        );
        if out.iter().any(|g| g.name == name) {
            continue;
        }
        let mut geometry = Geometry::named(name)
            .symbols(&[("M", m), ("N", n), ("K", k)])
            .dtypes(&[("a", a), ("b", b), ("out", to)])
            .padded(&[("a", pad[0]), ("b", pad[1]), ("out", pad[2])]);
        if bias {
            // The type of the bias goes round with the weight's, so that it differs from the activations' in some.
            geometry = geometry.dtypes(&[("bias", b)]).with("bias");
        }
        out.push(geometry);
    }
    out
}

//! Where kernels are verified.

use crate::dtype::{BF16, F16, F32, Shown};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;
use crate::schema::AttrValue;

const WIDTHS: [i64; 10] = [0, 1, 3, 8, 31, 100, 128, 576, 1000, 5000];
const ROWS: [i64; 6] = [0, 1, 2, 7, 16, 33];
const SCALES: [f64; 4] = [1.0, 0.125, -1.0, 0.0];
const PADDING: [i64; 2] = [0, 5];
const DTYPES: [overt_abi::OvertDType; 3] = [F32, F16, BF16];

pub(super) fn geometries() -> Vec<Geometry> {
    let mut all: Vec<Geometry> = pairwise(&[WIDTHS.len(), ROWS.len(), SCALES.len(), 2, 2, 3, 3])
        .into_iter()
        .map(|row| {
            let pad = [PADDING[row[3]], PADDING[row[4]]];
            let types = [DTYPES[row[5]], DTYPES[row[6]]];
            one(ROWS[row[1]], WIDTHS[row[0]], SCALES[row[2]], pad, types)
        })
        .collect();
    // A vocabulary, wider than the caches of one core.
    all.push(one(2, 151_936, 1.0, [0, 0], [F32, F32]));
    all.push(one(3, 49_152, 1.0, [8, 0], [BF16, F32]));
    all
}

fn one(t: i64, d: i64, scale: f64, pad: [i64; 2], types: [overt_abi::OvertDType; 2]) -> Geometry {
    let name = format!(
        "t{t}_d{d}_{}_{}_scale{scale}_pad{}_{}",
        Shown(types[0]),
        Shown(types[1]),
        pad[0],
        pad[1]
    );
    Geometry::named(name)
        .symbols(&[("T", t), ("D", d)])
        .dtypes(&[("x", types[0]), ("out", types[1])])
        .attr("scale", AttrValue::F64(scale))
        .padded(&[("x", pad[0]), ("out", pad[1])])
}

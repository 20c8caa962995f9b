//! Where kernels are verified.

use crate::dtype::{BF16, F16, F32, Shown};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;

const WIDTHS: [i64; 12] = [1, 2, 3, 8, 15, 31, 64, 100, 1000, 4097, 0, 32_000];
const ROWS: [i64; 7] = [0, 1, 2, 8, 17, 33, 40];
const PADDING: [i64; 2] = [0, 5];
const DTYPES: [overt_abi::OvertDType; 3] = [F32, F16, BF16];

pub(super) fn geometries() -> Vec<Geometry> {
    let mut all: Vec<Geometry> = pairwise(&[WIDTHS.len(), ROWS.len(), 2, 3])
        .into_iter()
        .map(|row| {
            one(
                ROWS[row[1]],
                WIDTHS[row[0]],
                PADDING[row[2]],
                DTYPES[row[3]],
            )
        })
        .collect();
    all.push(one(2, 151_936, 0, F32));
    all.push(one(8, 49_152, 0, BF16));
    all
}

fn one(t: i64, v: i64, padding: i64, dtype: overt_abi::OvertDType) -> Geometry {
    Geometry::named(format!("t{t}_v{v}_{}_pad{padding}", Shown(dtype)))
        .symbols(&[("T", t), ("V", v)])
        .dtypes(&[("logits", dtype)])
        .padded(&[("logits", padding)])
}

//! Where kernels are verified.

use crate::dtype::{BF16, F16, F32, Shown};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;
use crate::schema::AttrValue;

const WIDTHS: [i64; 10] = [1, 3, 31, 64, 100, 576, 1152, 2880, 4096, 9000];
const ROWS: [i64; 5] = [0, 1, 2, 7, 33];
const EPS: [f64; 4] = [1e-6, 1e-5, 0.5, 1e-2];
const OFFSETS: [f64; 2] = [0.0, 1.0];
const PADDING: [i64; 2] = [0, 5];
const DTYPES: [overt_abi::OvertDType; 3] = [F32, F16, BF16];

pub(super) fn geometries() -> Vec<Geometry> {
    pairwise(&[WIDTHS.len(), ROWS.len(), EPS.len(), 2, 2, 2, 2, 3, 3, 3])
        .into_iter()
        .map(|row| {
            let (d, t, eps, offset) = (WIDTHS[row[0]], ROWS[row[1]], EPS[row[2]], OFFSETS[row[3]]);
            let pad = [PADDING[row[4]], PADDING[row[5]], PADDING[row[6]]];
            let (x, residual, weight) = (DTYPES[row[7]], DTYPES[row[8]], DTYPES[row[9]]);
            let name = format!(
                "t{t}_d{d}_{}_r{}_w{}_eps{eps}_offset{offset}_pad{}_{}_{}",
                Shown(x),
                Shown(residual),
                Shown(weight),
                pad[0],
                pad[1],
                pad[2]
            );
            Geometry::named(name)
                .symbols(&[("T", t), ("D", d)])
                .dtypes(&[("x", x), ("residual", residual), ("weight", weight)])
                .attr("eps", AttrValue::F64(eps))
                .attr("weight_offset", AttrValue::F64(offset))
                .padded(&[("x", pad[0]), ("residual", pad[1]), ("out", pad[2])])
        })
        .collect()
}

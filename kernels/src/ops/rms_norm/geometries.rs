//! Where kernels are verified.

use crate::dtype::{BF16, F16, F32, Shown};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;
use crate::schema::AttrValue;

const WIDTHS: [i64; 9] = [1, 3, 31, 64, 100, 576, 1152, 2880, 4096];
const ROWS: [i64; 5] = [0, 1, 2, 7, 33];
const EPS: [f64; 4] = [1e-6, 1e-5, 0.5, 1e-2];
const OFFSETS: [f64; 2] = [0.0, 1.0];
const PADDING: [i64; 3] = [0, 5, 16];
const DTYPES: [overt_abi::OvertDType; 3] = [F32, F16, BF16];

pub(super) fn geometries() -> Vec<Geometry> {
    pairwise(&[
        WIDTHS.len(),
        ROWS.len(),
        EPS.len(),
        PADDING.len(),
        PADDING.len(),
        3,
        3,
        OFFSETS.len(),
    ])
    .into_iter()
    .map(|row| {
        let (d, t, eps) = (WIDTHS[row[0]], ROWS[row[1]], EPS[row[2]]);
        let (pad_x, pad_out) = (PADDING[row[3]], PADDING[row[4]]);
        let (x, weight) = (DTYPES[row[5]], DTYPES[row[6]]);
        let offset = OFFSETS[row[7]];
        let name = format!(
            "t{t}_d{d}_{}_w{}_eps{eps}_offset{offset}_pad{pad_x}_{pad_out}",
            Shown(x),
            Shown(weight)
        );
        Geometry::named(name)
            .symbols(&[("T", t), ("D", d)])
            .dtypes(&[("x", x), ("weight", weight)])
            .attr("eps", AttrValue::F64(eps))
            .attr("weight_offset", AttrValue::F64(offset))
            .padded(&[("x", pad_x), ("out", pad_out)])
    })
    .collect()
}

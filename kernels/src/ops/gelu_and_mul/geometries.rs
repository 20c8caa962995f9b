//! Where kernels are verified.

use crate::dtype::{BF16, F16, F32, Shown};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;
use crate::schema::AttrValue;

const WIDTHS: [i64; 9] = [0, 1, 3, 7, 31, 100, 576, 1536, 2880];
const ROWS: [i64; 6] = [0, 1, 2, 7, 16, 33];
const PADDING: [i64; 3] = [0, 5, 16];
const DTYPES: [overt_abi::OvertDType; 3] = [F32, F16, BF16];

pub(super) fn geometries() -> Vec<Geometry> {
    pairwise(&[WIDTHS.len(), ROWS.len(), PADDING.len(), PADDING.len(), 3, 2])
        .into_iter()
        .map(|row| {
            let (d, t, x, erf) = (WIDTHS[row[0]], ROWS[row[1]], DTYPES[row[4]], row[5] == 1);
            let (pad_x, pad_out) = (PADDING[row[2]], PADDING[row[3]]);
            let form = if erf { "erf" } else { "tanh" };
            Geometry::named(format!(
                "t{t}_d{d}_{}_{form}_pad{pad_x}_{pad_out}",
                Shown(x)
            ))
            .symbols(&[("T", t), ("D2", 2 * d)])
            .dtypes(&[("x", x)])
            .attr("erf", AttrValue::Bool(erf))
            .padded(&[("x", pad_x), ("out", pad_out)])
        })
        .collect()
}

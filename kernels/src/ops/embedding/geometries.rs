//! Where kernels are verified.

use crate::dtype::{BF16, F16, F32, Shown};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;
use crate::schema::AttrValue;
use overt_abi::OvertDType;

const WIDTHS: [i64; 8] = [0, 1, 3, 31, 64, 100, 576, 2880];
const ROWS: [i64; 6] = [0, 1, 2, 7, 16, 33];
const VOCABULARIES: [i64; 4] = [1, 2, 37, 500];
/// 24 is the root of 576: Gemma multiplies by the root of the width.
const SCALES: [f64; 3] = [1.0, 24.0, -0.3];
const PADDING: [i64; 2] = [0, 5];
const TABLES: [OvertDType; 3] = [F32, F16, BF16];
const DTYPES: [OvertDType; 3] = [F32, F16, BF16];

pub(super) fn geometries() -> Vec<Geometry> {
    pairwise(&[
        WIDTHS.len(),
        ROWS.len(),
        VOCABULARIES.len(),
        SCALES.len(),
        2,
        2,
        TABLES.len(),
        DTYPES.len(),
    ])
    .into_iter()
    .map(|row| {
        let (d, t, v) = (WIDTHS[row[0]], ROWS[row[1]], VOCABULARIES[row[2]]);
        let (scale, table, out) = (SCALES[row[3]], TABLES[row[6]], DTYPES[row[7]]);
        let (pad_table, pad_out) = (PADDING[row[4]], PADDING[row[5]]);
        let name = format!(
            "t{t}_v{v}_d{d}_{}_{}_scale{scale}_pad{pad_table}_{pad_out}",
            Shown(table),
            Shown(out)
        );
        Geometry::named(name)
            .symbols(&[("T", t), ("V", v), ("D", d)])
            .dtypes(&[("table", table), ("out", out)])
            .attr("scale", AttrValue::F64(scale))
            .padded(&[("table", pad_table), ("out", pad_out)])
    })
    .collect()
}

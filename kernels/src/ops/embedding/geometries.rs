//! Where kernels are verified.

use crate::dtype::{
    BF16, F16, F32, FP8_E4M3FN, FP8_E5M2, MXFP4, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0,
    Shown, block,
};
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

/// The formats of weights besides.
const FORMATS: [OvertDType; 11] = [
    Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, MXFP4, FP8_E4M3FN, FP8_E5M2,
];
/// Widths in blocks; of 8-bit floats, which have none, in elements.
const BLOCKS: [i64; 4] = [1, 3, 18, 37];

pub(super) fn geometries() -> Vec<Geometry> {
    let plain = pairwise(&[
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
        let shape = [ROWS[row[1]], VOCABULARIES[row[2]], WIDTHS[row[0]]];
        let pad = [PADDING[row[4]], PADDING[row[5]]];
        one(shape, TABLES[row[6]], DTYPES[row[7]], SCALES[row[3]], pad)
    });
    let stored = pairwise(&[
        FORMATS.len(),
        BLOCKS.len(),
        ROWS.len(),
        VOCABULARIES.len(),
        SCALES.len(),
        2,
        DTYPES.len(),
    ])
    .into_iter()
    .map(|row| {
        let table = FORMATS[row[0]];
        let elements = block(table).map_or(1, |b| b.elements as i64);
        let shape = [
            ROWS[row[2]],
            VOCABULARIES[row[3]],
            BLOCKS[row[1]] * elements,
        ];
        // Rows of a table begin at blocks.
        let pad = [PADDING[row[5]] * elements, PADDING[row[5]]];
        one(shape, table, DTYPES[row[6]], SCALES[row[4]], pad)
    });
    plain.chain(stored).collect()
}

fn one(
    [t, v, d]: [i64; 3],
    table: OvertDType,
    out: OvertDType,
    scale: f64,
    pad: [i64; 2],
) -> Geometry {
    let name = format!(
        "t{t}_v{v}_d{d}_{}_{}_scale{scale}_pad{}_{}",
        Shown(table),
        Shown(out),
        pad[0],
        pad[1]
    );
    Geometry::named(name)
        .symbols(&[("T", t), ("V", v), ("D", d)])
        .dtypes(&[("table", table), ("out", out)])
        .attr("scale", AttrValue::F64(scale))
        .padded(&[("table", pad[0]), ("out", pad[1])])
}

//! Where kernels are verified.

use crate::dtype::{BF16, F16, F32, Shown};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;
use crate::schema::AttrValue;

/// Width of a head and number of pairs: whole heads, partial ones (a quarter, three quarters, DeepSeek's 64), odd ones, none.
const HEADS: [(i64, i64); 13] = [
    (64, 32),
    (80, 40),
    (96, 48),
    (128, 64),
    (112, 56),
    (256, 32),
    (64, 24),
    (576, 32),
    (2, 1),
    (7, 3),
    (100, 17),
    (5, 0),
    (512, 256),
];
const ROWS: [i64; 6] = [0, 1, 2, 7, 16, 33];
const COUNTS: [i64; 5] = [1, 3, 4, 9, 0];
const PADDING: [i64; 2] = [0, 5];
/// The second is YaRN's for a factor of 40.
const AMPLITUDES: [f64; 3] = [1.0, 1.368_887_945_411_393_8, 0.5];
const DTYPES: [overt_abi::OvertDType; 3] = [F32, F16, BF16];

pub(super) fn geometries() -> Vec<Geometry> {
    pairwise(&[
        HEADS.len(),
        ROWS.len(),
        COUNTS.len(),
        2,
        2,
        3,
        2,
        AMPLITUDES.len(),
    ])
    .into_iter()
    .map(|row| {
        let ((d, f), t, h) = (HEADS[row[0]], ROWS[row[1]], COUNTS[row[2]]);
        let (pad_x, pad_out) = (PADDING[row[3]], PADDING[row[4]]);
        let (x, interleaved, amplitude) = (DTYPES[row[5]], row[6] == 1, AMPLITUDES[row[7]]);
        let order = if interleaved { "pairs" } else { "neox" };
        Geometry::named(format!(
            "t{t}_h{h}_d{d}_f{f}_{}_{order}_amp{amplitude:.2}_pad{pad_x}_{pad_out}",
            Shown(x)
        ))
        .symbols(&[("T", t), ("H", h), ("D", d), ("F", f)])
        .dtypes(&[("x", x)])
        .attr("interleaved", AttrValue::Bool(interleaved))
        .attr("amplitude", AttrValue::F64(amplitude))
        .padded(&[("x", pad_x), ("out", pad_out)])
    })
    .collect()
}

//! Where kernels are verified.

use crate::dtype::{
    self, BF16, F16, F32, FP8_E4M3FN, FP8_E5M2, MXFP4, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K,
    Q8_0, Shown,
};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;
use crate::schema::AttrValue;
use overt_abi::OvertDType;

/// (tokens, chosen experts): from one row in all to many rows for some experts.
const TOKENS: [(i64, i64); 9] = [
    (1, 8),
    (1, 1),
    (0, 4),
    (3, 2),
    (7, 4),
    (16, 2),
    (33, 8),
    (40, 1),
    (2, 0),
];
const EXPERTS: [i64; 5] = [8, 1, 3, 32, 17];
const ROWS: [i64; 6] = [48, 1, 7, 33, 96, 130];
/// Depths of formats whose elements stand alone, of those of 32 elements and of those of 256.
const PLAIN_DEPTHS: [i64; 5] = [64, 1, 40, 257, 96];
const SMALL_DEPTHS: [i64; 5] = [64, 32, 96, 288, 128];
const GROUPED_DEPTHS: [i64; 5] = [256, 512, 256, 768, 512];
const FLOATS: [OvertDType; 3] = [F32, BF16, F16];
const FORMATS: [OvertDType; 14] = [
    BF16, FP8_E4M3FN, Q8_0, F32, Q4_0, F16, MXFP4, FP8_E5M2, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K,
];
/// Rows and depth of a scale; `None` without scales, a depth of 0 stands for K.
const SCALES: [Option<(i64, i64)>; 4] = [None, Some((1, 0)), Some((128, 128)), Some((48, 100))];
const PADDING: [[i64; 3]; 3] = [[0, 0, 0], [5, 0, 3], [8, 256, 0]];

pub(super) fn geometries() -> Vec<Geometry> {
    let mut out: Vec<Geometry> = Vec::new();
    for row in pairwise(&[
        TOKENS.len(),
        EXPERTS.len(),
        ROWS.len(),
        PLAIN_DEPTHS.len(),
        3,
        FORMATS.len(),
        3,
        2,
        SCALES.len(),
        2,
        2,
        PADDING.len(),
    ]) {
        let geometry = geometry(&row);
        if out.iter().all(|g| g.name != geometry.name) {
            out.push(geometry);
        }
    }
    out
}

fn geometry(row: &[usize]) -> Geometry {
    let ((t, s), e, n) = (TOKENS[row[0]], EXPERTS[row[1]], ROWS[row[2]]);
    let (a, b, to) = (FLOATS[row[4]], FORMATS[row[5]], FLOATS[row[6]]);
    let depths = match dtype::block(b).map(|block| block.elements) {
        Some(256) => GROUPED_DEPTHS,
        Some(32) => SMALL_DEPTHS,
        _ => PLAIN_DEPTHS,
    };
    let k = depths[row[3]];
    let bias = row[7] == 1;
    let scale = SCALES[row[8]].map(|(rows, depth)| (rows, if depth == 0 { k } else { depth }));
    let (rounded, shared, pad) = (row[9] == 1, row[10] == 1, PADDING[row[11]]);
    let mut name = format!(
        "t{t}_s{s}_e{e}_n{n}_k{k}_{}_{}_{}",
        Shown(a),
        Shown(b),
        Shown(to)
    );
    if let Some((rows, depth)) = scale {
        name += &format!("_s{rows}x{depth}");
    }
    for (word, given) in [("int8", rounded), ("bias", bias), ("shared", shared)] {
        if given {
            name += &format!("_{word}");
        }
    }
    name += &format!("_pad{}_{}_{}", pad[0], pad[1], pad[2]);
    let mut geometry = Geometry::named(name)
        .symbols(&[("T", t), ("S", s), ("K", k), ("E", e), ("N", n)])
        .dtypes(&[("a", a), ("b", b), ("out", to)])
        .padded(&[("a", pad[0]), ("b", pad[1]), ("out", pad[2])]);
    if bias {
        geometry = geometry.dtypes(&[("bias", to)]).with("bias");
    }
    if let Some((rows, depth)) = scale {
        geometry = geometry
            .with("b_scale")
            .attr("scale_rows", AttrValue::I64(rows))
            .attr("scale_depth", AttrValue::I64(depth));
    }
    if rounded {
        geometry = geometry.attr("int8_activations", AttrValue::Bool(true));
    }
    if shared {
        geometry = geometry.repeated("a", 1);
    }
    geometry
}

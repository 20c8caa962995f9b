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
/// Half of the problems are without: what kernels of block formats take.
const SCALES: [Option<(i64, i64)>; 6] = [
    None,
    Some((1, 0)),
    None,
    Some((128, 128)),
    None,
    Some((48, 100)),
];
const PADDING: [[i64; 3]; 3] = [[0, 0, 0], [5, 0, 3], [8, 256, 0]];

pub(super) fn geometries() -> Vec<Geometry> {
    let mut out: Vec<Geometry> = Vec::new();
    for spec in dense().into_iter().chain(formats()) {
        let geometry = spec.geometry();
        if out.iter().all(|g| g.name != geometry.name) {
            out.push(geometry);
        }
    }
    for geometry in tiles().into_iter().map(Spec::geometry) {
        if out.iter().all(|g| g.name != geometry.name) {
            out.push(geometry);
        }
    }
    out
}

/// Enough tokens for register tiles, which the rows and depths cut in each direction.
fn tiles() -> Vec<Spec> {
    let mut out = Vec::new();
    let types = [(F32, F32), (BF16, BF16), (F16, BF16), (F16, F16)];
    let extents = [(3, 33, 96), (3, 31, 33), (2, 65, 100), (3, 7, 1)];
    for (i, (a, b)) in types.into_iter().enumerate() {
        for (j, extents) in extents.into_iter().enumerate() {
            let turn = i + j;
            out.push(Spec {
                tokens: (70, 2),
                extents,
                types: (a, b, FLOATS[turn % 3]),
                bias: turn.is_multiple_of(2),
                scale: None,
                rounded: false,
                shared: i % 2 == 1,
                padding: PADDING[if j == 0 { 0 } else { turn % 3 }],
            });
        }
    }
    out
}

/// Weights as models train them, with nothing done to either side.
fn dense() -> Vec<Spec> {
    let factors = [
        TOKENS.len(),
        EXPERTS.len(),
        ROWS.len(),
        PLAIN_DEPTHS.len(),
        3,
        3,
        3,
        2,
        2,
        PADDING.len(),
    ];
    pairwise(&factors)
        .into_iter()
        .map(|row| Spec {
            tokens: TOKENS[row[0]],
            extents: (EXPERTS[row[1]], ROWS[row[2]], PLAIN_DEPTHS[row[3]]),
            types: (FLOATS[row[4]], FLOATS[row[5]], FLOATS[row[6]]),
            bias: row[7] == 1,
            scale: None,
            rounded: false,
            shared: row[8] == 1,
            padding: PADDING[row[9]],
        })
        .collect()
}

/// Every format, with scales and rounded activations.
fn formats() -> Vec<Spec> {
    let factors = [
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
    ];
    let spec = |row: Vec<usize>| {
        let b = FORMATS[row[5]];
        let depths = match dtype::block(b).map(|block| block.elements) {
            Some(256) => GROUPED_DEPTHS,
            Some(32) => SMALL_DEPTHS,
            _ => PLAIN_DEPTHS,
        };
        let k = depths[row[3]];
        Spec {
            tokens: TOKENS[row[0]],
            extents: (EXPERTS[row[1]], ROWS[row[2]], k),
            types: (FLOATS[row[4]], b, FLOATS[row[6]]),
            bias: row[7] == 1,
            scale: SCALES[row[8]].map(|(rows, depth)| (rows, if depth == 0 { k } else { depth })),
            rounded: row[9] == 1,
            shared: row[10] == 1,
            padding: PADDING[row[11]],
        }
    };
    pairwise(&factors).into_iter().map(spec).collect()
}

struct Spec {
    /// Tokens and chosen experts.
    tokens: (i64, i64),
    /// Experts, rows and depth of a weight.
    extents: (i64, i64, i64),
    /// Of `a`, `b` and `out`.
    types: (OvertDType, OvertDType, OvertDType),
    bias: bool,
    scale: Option<(i64, i64)>,
    rounded: bool,
    /// One row of `a` for all chosen experts.
    shared: bool,
    /// Of `a`, `b` and `out`.
    padding: [i64; 3],
}

impl Spec {
    fn geometry(self) -> Geometry {
        let ((t, s), (e, n, k), (a, b, to)) = (self.tokens, self.extents, self.types);
        let Spec {
            bias,
            scale,
            rounded,
            shared,
            padding: pad,
            ..
        } = self;
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
}

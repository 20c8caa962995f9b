//! Where kernels are verified: dense weights of any shape, then every format with what it needs.

use crate::dtype::{
    self, BF16, F16, F32, FP8_E4M3FN, FP8_E5M2, MXFP4, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K,
    Q8_0, Shown,
};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;
use crate::schema::AttrValue;
use overt_abi::OvertDType;

const ROWS: [i64; 8] = [1, 0, 2, 3, 5, 16, 17, 64];
const COLUMNS: [i64; 10] = [64, 1, 0, 7, 31, 33, 100, 576, 1536, 8];
const DEPTHS: [i64; 10] = [64, 1, 7, 31, 33, 100, 576, 1536, 8, 0];
const DTYPES: [OvertDType; 3] = [F32, BF16, F16];
const PADDING: [[i64; 3]; 4] = [[0, 0, 0], [3, 0, 5], [0, 16, 0], [8, 1, 0]];

/// Products of one geometry beyond which its columns are cut to a smaller odd number, so that a scalar kernel in a debug
/// build verifies the whole list in seconds. The cut keeps the rows and the depth.
const MOST_PRODUCTS: i64 = 6_000_000;

/// Every format of a weight; the dense ones are here for scales and rounded activations.
const FORMATS: [OvertDType; 14] = [
    FP8_E4M3FN, FP8_E5M2, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, MXFP4, BF16, F32, F16,
];
/// One row, the few that share a pass over the weights, and tiles with tails.
const FORMAT_ROWS: [i64; 9] = [1, 2, 3, 4, 8, 9, 16, 33, 70];
const FORMAT_COLUMNS: [i64; 8] = [48, 1, 7, 16, 65, 129, 257, 640];
/// Depths of formats whose elements stand alone, of those of 32 elements and of those of 256.
const PLAIN_DEPTHS: [i64; 7] = [128, 1, 31, 40, 257, 640, 2080];
const SMALL_DEPTHS: [i64; 7] = [128, 32, 96, 64, 288, 640, 2080];
const GROUPED_DEPTHS: [i64; 7] = [256, 512, 256, 768, 1280, 1024, 2304];
/// Rows and depth of a scale; `None` without scales, a depth of 0 stands for K.
const SCALES: [Option<(i64, i64)>; 5] = [
    None,
    Some((1, 0)),
    Some((128, 128)),
    Some((1, 128)),
    Some((48, 100)),
];
/// Shapes that cut register tiles in each direction, alone and together: rows around 14, 16 and their multiples, columns around 32, depths around
/// the pairs and vectors of 16-bit elements.
const TILES: [(i64, i64, i64); 8] = [
    (16, 32, 64),
    (17, 33, 33),
    (28, 31, 31),
    (29, 65, 1),
    (64, 7, 100),
    (33, 48, 257),
    (16, 1, 2),
    (43, 100, 63),
];
const FORMAT_PADDING: [[i64; 3]; 3] = [[0, 0, 0], [5, 0, 3], [8, 256, 0]];

pub(super) fn geometries() -> Vec<Geometry> {
    let mut out: Vec<Geometry> = Vec::new();
    let all = dense()
        .into_iter()
        .chain(tiles())
        .chain(pieces())
        .chain(every_format())
        .chain(formats());
    for geometry in all {
        if out.iter().all(|g| g.name != geometry.name) {
            out.push(geometry);
        }
    }
    out
}

fn dense() -> Vec<Geometry> {
    let factors = [
        ROWS.len(),
        COLUMNS.len(),
        DEPTHS.len(),
        3,
        3,
        3,
        2,
        PADDING.len(),
    ];
    let spec = |row: Vec<usize>| Spec {
        shape: (ROWS[row[0]], COLUMNS[row[1]], DEPTHS[row[2]]),
        types: (DTYPES[row[3]], DTYPES[row[4]], DTYPES[row[5]]),
        // The type of the bias goes round with the weight's, so that it differs from the activations' in some.
        bias: (row[6] == 1).then(|| DTYPES[row[4]]),
        scale: None,
        rounded: false,
        padding: PADDING[row[7]],
    };
    pairwise(&factors)
        .into_iter()
        .map(|row| spec(row).geometry())
        .collect()
}

/// Many rows with both operands of one type: the pairs of [`dense`] seldom meet them with enough rows.
fn tiles() -> Vec<Geometry> {
    let mut out = Vec::new();
    for (i, dtype) in DTYPES.into_iter().enumerate() {
        for (j, shape) in TILES.into_iter().enumerate() {
            let turn = i + j;
            out.push(Spec {
                shape,
                types: (dtype, dtype, DTYPES[turn % 3]),
                bias: turn.is_multiple_of(2).then_some(dtype),
                scale: None,
                rounded: false,
                padding: PADDING[turn % PADDING.len()],
            });
        }
    }
    out.into_iter().map(Spec::geometry).collect()
}

/// Rows, columns, depth and padding of shapes whose rows begin on pieces of eight elements, as matrix instructions want them: whole tiles of 128
/// and pieces of them in each direction.
const PIECES: [(i64, i64, i64, [i64; 3]); 6] = [
    (128, 128, 64, [0, 0, 0]),
    (129, 257, 40, [8, 16, 3]),
    (40, 100, 8, [0, 0, 0]),
    (70, 1, 272, [0, 8, 1]),
    (260, 131, 24, [8, 0, 0]),
    (33, 390, 136, [0, 0, 2]),
];

/// Many rows in pieces of eight, both operands of one type.
fn pieces() -> Vec<Geometry> {
    let mut out = Vec::new();
    for (i, dtype) in [F16, BF16].into_iter().enumerate() {
        for (j, (m, n, k, padding)) in PIECES.into_iter().enumerate() {
            let turn = i + j;
            out.push(Spec {
                shape: (m, n, k),
                types: (dtype, dtype, DTYPES[turn % 3]),
                bias: turn.is_multiple_of(2).then_some(DTYPES[(turn / 2) % 3]),
                scale: None,
                rounded: false,
                padding,
            });
        }
    }
    out.into_iter().map(Spec::geometry).collect()
}

fn formats() -> Vec<Geometry> {
    let factors = [
        FORMATS.len(),
        FORMAT_ROWS.len(),
        FORMAT_COLUMNS.len(),
        PLAIN_DEPTHS.len(),
        3,
        3,
        2,
        SCALES.len(),
        2,
        FORMAT_PADDING.len(),
    ];
    let spec = |row: Vec<usize>| {
        let b = FORMATS[row[0]];
        let depths = match dtype::block(b).map(|block| block.elements) {
            Some(256) => GROUPED_DEPTHS,
            Some(32) => SMALL_DEPTHS,
            _ => PLAIN_DEPTHS,
        };
        let (a, to) = (DTYPES[row[4]], DTYPES[row[5]]);
        let depth = depths[row[3]];
        Spec {
            shape: (FORMAT_ROWS[row[1]], FORMAT_COLUMNS[row[2]], depth),
            types: (a, b, to),
            bias: (row[6] == 1).then_some(to),
            scale: SCALES[row[7]].map(|(rows, by)| (rows, if by == 0 { depth } else { by })),
            rounded: row[8] == 1,
            padding: FORMAT_PADDING[row[9]],
        }
    };
    pairwise(&factors)
        .into_iter()
        .map(|row| spec(row).geometry())
        .collect()
}

/// One row, few and many in each format, exact and rounded, with nothing else that a kernel might refuse: the pairs of
/// [`formats`] meet scales and rounding mostly in mixtures that engines do not ask for.
fn every_format() -> Vec<Geometry> {
    let mut out = Vec::new();
    for (i, b) in FORMATS.into_iter().enumerate() {
        let elements = dtype::block(b).map_or(1, |block| block.elements);
        for (j, (rows, columns)) in [(1, 129), (5, 71), (40, 48)].into_iter().enumerate() {
            let turn = i + j;
            let depth = match elements {
                256 => [512, 256, 768][turn % 3],
                32 => [576, 96, 320][turn % 3],
                _ => [576, 100, 260][turn % 3],
            };
            let fp8 = [FP8_E4M3FN, FP8_E5M2].contains(&b);
            let spec = |rounded, scale| Spec {
                shape: (rows, columns, depth),
                types: (DTYPES[turn % 3], b, DTYPES[(turn + 1) % 3]),
                bias: turn.is_multiple_of(2).then_some(DTYPES[turn % 3]),
                scale,
                rounded,
                padding: PADDING[if elements == 1 {
                    turn % PADDING.len()
                } else {
                    0
                }],
            };
            out.push(spec(false, None));
            if elements > 1 {
                out.push(spec(true, None));
            }
            if fp8 {
                out.push(spec(false, Some((1, depth))));
                out.push(spec(false, Some((128, 128))));
            }
        }
    }
    out.into_iter().map(Spec::geometry).collect()
}

struct Spec {
    /// Rows, columns, depth.
    shape: (i64, i64, i64),
    /// Of `a`, `b`, `out`.
    types: (OvertDType, OvertDType, OvertDType),
    bias: Option<OvertDType>,
    scale: Option<(i64, i64)>,
    rounded: bool,
    /// Of `a`, `b`, `out`.
    padding: [i64; 3],
}

impl Spec {
    fn geometry(self) -> Geometry {
        let (m, mut n, k) = self.shape;
        if m * n * k > MOST_PRODUCTS {
            n = 57;
        }
        let (a, b, to) = self.types;
        let pad = self.padding;
        let scale = self.scale.map(|(rows, depth)| format!("_s{rows}x{depth}"));
        let name = format!(
            "m{m}_n{n}_k{k}_{}_{}_{}{}{}{}_pad{}_{}_{}",
            Shown(a),
            Shown(b),
            Shown(to),
            scale.unwrap_or_default(),
            if self.rounded { "_int8" } else { "" },
            if self.bias.is_some() { "_bias" } else { "" },
            pad[0],
            pad[1],
            pad[2]
        );
        let mut geometry = Geometry::named(name)
            .symbols(&[("M", m), ("N", n), ("K", k)])
            .dtypes(&[("a", a), ("b", b), ("out", to)])
            .padded(&[("a", pad[0]), ("b", pad[1]), ("out", pad[2])]);
        if let Some(bias) = self.bias {
            geometry = geometry.dtypes(&[("bias", bias)]).with("bias");
        }
        if let Some((rows, depth)) = self.scale {
            geometry = geometry
                .with("b_scale")
                .attr("scale_rows", AttrValue::I64(rows))
                .attr("scale_depth", AttrValue::I64(depth));
        }
        if self.rounded {
            geometry = geometry.attr("int8_activations", AttrValue::Bool(true));
        }
        geometry
    }
}

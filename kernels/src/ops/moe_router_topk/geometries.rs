//! Where kernels are verified.

use crate::dtype::{BF16, F16, F32, Shown};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;
use crate::schema::AttrValue;
use overt_abi::OvertDType;

/// Experts, groups, groups to choose from, what scores a group, experts that are chosen: those of models, and odd ones.
const SHAPES: [[i64; 5]; 17] = [
    [32, 1, 1, 1, 4],
    [128, 1, 1, 1, 8],
    [256, 8, 4, 2, 8],
    [8, 1, 1, 1, 2],
    [160, 8, 3, 1, 6],
    [64, 1, 1, 1, 6],
    [1, 1, 1, 1, 1],
    [7, 1, 1, 1, 3],
    [12, 3, 2, 4, 5],
    [16, 1, 1, 1, 16],
    [15, 5, 5, 1, 4],
    [33, 11, 1, 3, 3],
    [100, 4, 2, 25, 1],
    [17, 1, 1, 1, 0],
    [384, 1, 1, 1, 8],
    [9, 9, 4, 1, 4],
    [512, 1, 1, 1, 10],
];
const TOKENS: [i64; 5] = [1, 0, 3, 13, 40];
const DTYPES: [OvertDType; 3] = [F32, BF16, F16];
const SCALES: [f64; 3] = [1.0, 2.5, -0.5];
const PADDING: [[i64; 3]; 3] = [[0, 0, 0], [5, 3, 1], [8, 0, 2]];

pub(super) fn geometries() -> Vec<Geometry> {
    pairwise(&[
        SHAPES.len(),
        TOKENS.len(),
        3,
        2,
        2,
        2,
        SCALES.len(),
        PADDING.len(),
    ])
    .into_iter()
    .map(|row| {
        let [e, groups, top, score, s] = SHAPES[row[0]];
        let (t, dtype) = (TOKENS[row[1]], DTYPES[row[2]]);
        let flags = [
            ("sigmoid", row[3] == 1),
            ("renormalise", row[4] == 1),
            ("bias", row[5] == 1),
        ];
        let (scale, pad) = (SCALES[row[6]], PADDING[row[7]]);
        let mut name = format!("t{t}_e{e}_s{s}_{}", Shown(dtype));
        if groups > 1 {
            name += &format!("_groups{top}of{groups}by{score}");
        }
        for (word, _) in flags.iter().filter(|(_, given)| *given) {
            name += &format!("_{word}");
        }
        if row[6] > 0 {
            name += &format!("_scale{scale}");
        }
        name += &format!("_pad{}_{}_{}", pad[0], pad[1], pad[2]);
        let mut geometry = Geometry::named(name)
            .symbols(&[("T", t), ("E", e), ("S", s)])
            .dtypes(&[("logits", dtype)])
            .padded(&[("logits", pad[0]), ("weights", pad[1]), ("experts", pad[2])]);
        // What is at its default is not given, as a caller would leave it.
        for (name, value) in [
            ("groups", groups),
            ("top_groups", top),
            ("group_score", score),
        ] {
            if value != 1 {
                geometry = geometry.attr(name, AttrValue::I64(value));
            }
        }
        for (name, given) in &flags[..2] {
            if *given {
                geometry = geometry.attr(name, AttrValue::Bool(true));
            }
        }
        if row[6] > 0 {
            geometry = geometry.attr("scale", AttrValue::F64(scale));
        }
        if flags[2].1 {
            geometry = geometry.with("bias");
        }
        geometry
    })
    .collect()
}

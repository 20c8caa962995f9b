//! Where kernels are verified.

use crate::dtype::{BF16, F16, F32, FP8_E4M3FN, FP8_E5M2, Q4_0, Q5_0, Q5_1, Q8_0, Shown};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;
use crate::schema::AttrValue;
use overt_abi::OvertDType;

const TOKENS: [i64; 5] = [0, 1, 5, 17, 40];
const PAGES: [i64; 5] = [16, 1, 64, 480, 544];
const HEADS: [i64; 4] = [1, 2, 3, 8];
/// Widths of keys and values in types whose elements stand alone.
const WIDTHS: [(i64, i64); 6] = [
    (64, 64),
    (80, 80),
    (100, 100),
    (128, 64),
    (1, 3),
    (576, 512),
];
/// Widths of whole blocks.
const BLOCK_WIDTHS: [(i64, i64); 6] = [
    (64, 64),
    (32, 96),
    (128, 64),
    (192, 128),
    (256, 256),
    (576, 512),
];
const FLOATS: [OvertDType; 3] = [F32, F16, BF16];
const PLAIN: [OvertDType; 5] = [F32, F16, BF16, FP8_E4M3FN, FP8_E5M2];
const CACHES: [OvertDType; 9] = [Q8_0, F32, Q4_0, BF16, Q5_1, FP8_E4M3FN, Q5_0, F16, FP8_E5M2];
/// Scales of keys and of values. With the last, keys exceed what `fp8_e4m3fn` holds.
const SCALES: [(f64, f64); 3] = [(1.0, 1.0), (0.25, 3.0), (0.005, 0.5)];
/// Padding of every stride of the caches, and of their first alone.
const PADDING: [(i64, i64); 4] = [(0, 0), (0, 64), (3, 0), (8, 1000)];

pub(super) fn geometries() -> Vec<Geometry> {
    let mut out: Vec<Geometry> = Vec::new();
    let lists = [(&WIDTHS, &PLAIN[..]), (&BLOCK_WIDTHS, &CACHES[..])];
    for geometry in lists.into_iter().flat_map(|(w, c)| combined(w, c)) {
        if out.iter().all(|g| g.name != geometry.name) {
            out.push(geometry);
        }
    }
    out
}

fn combined(widths: &[(i64, i64)], caches: &[OvertDType]) -> Vec<Geometry> {
    pairwise(&[
        TOKENS.len(),
        PAGES.len(),
        HEADS.len(),
        widths.len(),
        3,
        3,
        caches.len(),
        caches.len(),
        PADDING.len(),
        2,
        SCALES.len(),
    ])
    .into_iter()
    .map(|row| {
        let (t, p, heads, (d, dv)) = (TOKENS[row[0]], PAGES[row[1]], HEADS[row[2]], widths[row[3]]);
        let (key, value) = (FLOATS[row[4]], FLOATS[row[5]]);
        let (k, v) = (caches[row[6]], caches[row[7]]);
        let (padding, outer) = PADDING[row[8]];
        let source_padding = if row[9] == 1 { 7 } else { 0 };
        let (k_scale, v_scale) = SCALES[row[10]];
        // Some more room than tokens need, in at least two pages.
        let n = (t / p + 2).max(if p == 1 { 50 } else { 2 });
        let mut name = format!(
            "t{t}_page{p}_h{heads}_d{d}_dv{dv}_{}_{}_k{}_v{}_pad{source_padding}_{padding}_{outer}",
            Shown(key),
            Shown(value),
            Shown(k),
            Shown(v)
        );
        if row[10] > 0 {
            name += &format!("_scale{k_scale}_{v_scale}");
        }
        let geometry = Geometry::named(name)
            .symbols(&[
                ("T", t),
                ("Hkv", heads),
                ("D", d),
                ("Dv", dv),
                ("N", n),
                ("P", p),
            ])
            .dtypes(&[
                ("key", key),
                ("value", value),
                ("k_cache", k),
                ("v_cache", v),
            ])
            .padded(&[("key", source_padding), ("value", source_padding)])
            .padded(&[("k_cache", padding), ("v_cache", padding)])
            .outer_padded(&[("k_cache", outer), ("v_cache", outer)]);
        // What is at its default is not given, as a caller would leave it.
        if row[10] == 0 {
            return geometry;
        }
        geometry
            .attr("k_scale", AttrValue::F64(k_scale))
            .attr("v_scale", AttrValue::F64(v_scale))
    })
    .collect()
}

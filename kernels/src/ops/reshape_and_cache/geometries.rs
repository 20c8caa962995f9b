//! Where kernels are verified.

use crate::dtype::{BF16, F16, F32, Shown};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;

const TOKENS: [i64; 5] = [0, 1, 5, 17, 40];
const PAGES: [i64; 5] = [16, 1, 64, 480, 544];
const HEADS: [i64; 4] = [1, 2, 3, 8];
const WIDTHS: [(i64, i64); 6] = [
    (64, 64),
    (80, 80),
    (100, 100),
    (128, 64),
    (1, 3),
    (576, 512),
];
const DTYPES: [overt_abi::OvertDType; 3] = [F32, F16, BF16];
/// Padding of every stride of the caches, and of their first alone.
const PADDING: [(i64, i64); 4] = [(0, 0), (0, 64), (3, 0), (8, 1000)];

pub(super) fn geometries() -> Vec<Geometry> {
    pairwise(&[
        TOKENS.len(),
        PAGES.len(),
        HEADS.len(),
        WIDTHS.len(),
        3,
        3,
        3,
        3,
        PADDING.len(),
        2,
    ])
    .into_iter()
    .map(|row| {
        let (t, p, heads, (d, dv)) = (TOKENS[row[0]], PAGES[row[1]], HEADS[row[2]], WIDTHS[row[3]]);
        let (key, value, k, v) = (
            DTYPES[row[4]],
            DTYPES[row[5]],
            DTYPES[row[6]],
            DTYPES[row[7]],
        );
        let (padding, outer) = PADDING[row[8]];
        let source_padding = if row[9] == 1 { 7 } else { 0 };
        // Some more room than tokens need, in at least two pages.
        let n = (t / p + 2).max(if p == 1 { 50 } else { 2 });
        let name = format!(
            "t{t}_page{p}_h{heads}_d{d}_dv{dv}_{}_{}_k{}_v{}_pad{source_padding}_{padding}_{outer}",
            Shown(key),
            Shown(value),
            Shown(k),
            Shown(v)
        );
        Geometry::named(name)
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
            .outer_padded(&[("k_cache", outer), ("v_cache", outer)])
    })
    .collect()
}

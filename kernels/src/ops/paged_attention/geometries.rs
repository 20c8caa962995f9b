//! Where kernels are verified: every pair of conditions together, and some problems that stand for themselves.

use crate::dtype::{BF16, F16, F32, FP8_E4M3FN, FP8_E5M2, Q4_0, Q5_0, Q5_1, Q8_0, Shown};
use crate::op::Geometry;
use crate::ops::pairwise::pairwise;
use crate::schema::AttrValue;
use overt_abi::OvertDType;

/// Widths of keys and of values.
const WIDTHS: [(i64, i64); 13] = [
    (64, 64),
    (80, 80),
    (88, 88),
    (96, 96),
    (100, 100),
    (112, 112),
    (128, 128),
    (192, 192),
    (256, 256),
    (512, 512),
    (576, 512),
    (192, 128),
    (7, 5),
];
/// Widths of whole blocks.
const BLOCK_WIDTHS: [(i64, i64); 9] = [
    (64, 64),
    (32, 96),
    (96, 96),
    (128, 128),
    (192, 192),
    (256, 256),
    (512, 512),
    (576, 512),
    (192, 128),
];
const RATIOS: [i64; 7] = [1, 3, 4, 5, 7, 8, 16];
const PAGES: [i64; 6] = [16, 1, 64, 480, 544, 3];
/// (causal, window): windows around tile sizes, both causal and not.
const MASKS: [(bool, i64); 7] = [
    (true, 0),
    (false, 0),
    (true, 1),
    (true, 7),
    (true, 64),
    (false, 5),
    (true, 1000),
];
const SOFTCAPS: [f64; 3] = [0.0, 2.0, 50.0];
/// (query, out)
const FLOATS: [(OvertDType, OvertDType); 5] = [
    (F32, F32),
    (BF16, BF16),
    (F16, F16),
    (F16, F32),
    (F32, BF16),
];
/// (key cache, value cache)
const CACHES: [(OvertDType, OvertDType); 8] = [
    (F32, F32),
    (BF16, BF16),
    (FP8_E4M3FN, FP8_E4M3FN),
    (F16, F16),
    (F16, BF16),
    (FP8_E5M2, FP8_E5M2),
    (BF16, F32),
    (FP8_E4M3FN, BF16),
];
/// Formats of a key or a value cache: all, so that each meets each.
const FORMATS: [OvertDType; 9] = [Q8_0, F32, Q4_0, BF16, Q5_1, FP8_E4M3FN, Q5_0, F16, FP8_E5M2];
/// Scales of keys and of values.
const SCALES: [(f64, f64); 3] = [(1.0, 1.0), (0.5, 3.0), (1.7, 0.2)];
/// Padding of all strides of query, of all strides of the caches, and of pages alone.
const PADDING: [(i64, i64, i64); 4] = [(0, 0, 0), (0, 0, 96), (5, 3, 0), (8, 0, 10_001)];
/// (query lengths, sequence lengths)
const BATCHES: [(&[i64], &[i64]); 11] = [
    (&[7, 0, 5], &[23, 9, 5]),
    (&[1, 1, 1, 1], &[1, 15, 16, 17]),
    (&[1, 1, 1], &[63, 64, 65]),
    (&[1, 1, 1], &[127, 128, 129]),
    (&[1, 1, 1], &[255, 256, 257]),
    (&[17], &[17]),
    (&[3, 1, 16], &[65, 129, 31]),
    (&[0, 2, 0, 1], &[0, 2, 5, 1]),
    (&[0, 0], &[5, 0]),
    (&[40, 5], &[40, 31]),
    (&[1, 9, 1, 2], &[33, 9, 2, 48]),
];

struct Spec {
    widths: (i64, i64),
    ratio: i64,
    kv_heads: i64,
    page: i64,
    mask: (bool, i64),
    softcap: f64,
    sinks: bool,
    floats: (OvertDType, OvertDType),
    caches: (OvertDType, OvertDType),
    scales: (f64, f64),
    padding: (i64, i64, i64),
    batch: (&'static [i64], &'static [i64]),
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            widths: (64, 64),
            ratio: 3,
            kv_heads: 1,
            page: 16,
            mask: (true, 0),
            softcap: 0.0,
            sinks: false,
            floats: (F32, F32),
            caches: (F32, F32),
            scales: (1.0, 1.0),
            padding: (0, 0, 0),
            batch: BATCHES[0],
        }
    }
}

pub(super) fn geometries() -> Vec<Geometry> {
    let mut out: Vec<Geometry> = Vec::new();
    let specs = plain().into_iter().chain(formats());
    for spec in specs.chain(single()).chain(thresholds()) {
        let geometry = spec.geometry();
        if out.iter().all(|g| g.name != geometry.name) {
            out.push(geometry);
        }
    }
    out
}

/// Caches whose elements stand alone, in every width.
fn plain() -> Vec<Spec> {
    let factors = [WIDTHS.len(), CACHES.len()];
    combined(&factors, |row| (WIDTHS[row[0]], CACHES[row[1]]))
}

/// Every format of keys with every one of values, in widths of whole blocks.
fn formats() -> Vec<Spec> {
    let factors = [BLOCK_WIDTHS.len(), FORMATS.len(), FORMATS.len()];
    combined(&factors, |row| {
        (BLOCK_WIDTHS[row[0]], (FORMATS[row[1]], FORMATS[row[2]]))
    })
}

/// Widths and cache types as given by `of` from the levels of the first factors, with every pair of all other conditions.
fn combined(
    first: &[usize],
    of: impl Fn(&[usize]) -> ((i64, i64), (OvertDType, OvertDType)),
) -> Vec<Spec> {
    let rest = [
        RATIOS.len(),
        PAGES.len(),
        MASKS.len(),
        SOFTCAPS.len(),
        2,
        FLOATS.len(),
        PADDING.len(),
        BATCHES.len(),
        SCALES.len(),
    ];
    pairwise(&[first, &rest].concat())
        .into_iter()
        .map(|row| {
            let (widths, caches) = of(&row);
            let row = &row[first.len()..];
            let ratio = RATIOS[row[0]];
            Spec {
                widths,
                ratio,
                // Enough query heads without more key heads than the ratio needs to show a wrong one.
                kv_heads: if ratio <= 4 && widths.0 <= 192 { 2 } else { 1 },
                page: PAGES[row[1]],
                mask: MASKS[row[2]],
                softcap: SOFTCAPS[row[3]],
                sinks: row[4] == 1,
                floats: FLOATS[row[5]],
                caches,
                padding: PADDING[row[6]],
                batch: BATCHES[row[7]],
                scales: SCALES[row[8]],
            }
        })
        .collect()
}

/// Decode and short chunks at lengths around the chunks of keys into which a long sequence may be cut.
fn thresholds() -> Vec<Spec> {
    const DECODE: (&[i64], &[i64]) = (&[1, 1, 1, 1, 1, 1], &[511, 512, 513, 1023, 1024, 1025]);
    const CHUNK: (&[i64], &[i64]) = (&[3, 0, 2, 1], &[514, 9, 1025, 1026]);
    let of = |caches, batch| Spec {
        ratio: 4,
        caches,
        batch,
        ..Spec::default()
    };
    vec![
        of((F32, F32), DECODE),
        of((F32, F32), CHUNK),
        Spec {
            floats: (BF16, BF16),
            ..of((BF16, BF16), DECODE)
        },
        Spec {
            mask: (true, 600),
            sinks: true,
            ..of((F16, F16), DECODE)
        },
        Spec {
            page: 64,
            softcap: 50.0,
            ..of((BF16, BF16), CHUNK)
        },
        of((Q8_0, Q8_0), DECODE),
        Spec {
            page: 480,
            ..of((FP8_E4M3FN, FP8_E4M3FN), DECODE)
        },
        of((Q8_0, Q4_0), CHUNK),
    ]
}

/// Problems that pairs alone would not meet.
fn single() -> Vec<Spec> {
    vec![
        // A sequence over several of the large pages of hybrid models, both in decode and in a short chunk.
        Spec {
            page: 480,
            batch: (&[1, 3], &[481, 962]),
            ..Spec::default()
        },
        Spec {
            page: 544,
            batch: (&[2, 1], &[545, 1089]),
            caches: (BF16, BF16),
            ..Spec::default()
        },
        // The published test geometry of a Qwen3-class model: a prompt and the tail of another.
        Spec {
            widths: (128, 128),
            ratio: 2,
            kv_heads: 2,
            floats: (BF16, BF16),
            caches: (BF16, BF16),
            batch: (&[40, 5], &[40, 71]),
            ..Spec::default()
        },
        // Per-head sinks with a window over many key heads.
        Spec {
            ratio: 8,
            kv_heads: 2,
            mask: (true, 128),
            sinks: true,
            floats: (BF16, BF16),
            caches: (BF16, BF16),
            batch: (&[1, 1, 2], &[127, 129, 300]),
            ..Spec::default()
        },
        // All key heads differ.
        Spec {
            ratio: 1,
            kv_heads: 9,
            batch: (&[2, 1], &[19, 33]),
            ..Spec::default()
        },
        // The head width of no tile, with a softcap: the explained example.
        Spec {
            widths: (112, 112),
            ratio: 7,
            page: 480,
            softcap: 50.0,
            ..Spec::default()
        },
        // One request, one token, one key.
        Spec {
            batch: (&[1], &[1]),
            page: 1,
            ..Spec::default()
        },
        Spec {
            batch: (&[1], &[1]),
            sinks: true,
            softcap: 2.0,
            ..Spec::default()
        },
        // No request at all.
        Spec {
            batch: (&[], &[]),
            ..Spec::default()
        },
        // Many short requests.
        Spec {
            page: 3,
            batch: (&[1, 0, 1, 2, 1, 0, 3, 1, 1], &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
            ..Spec::default()
        },
    ]
}

impl Spec {
    fn geometry(&self) -> Geometry {
        let (query_lens, seq_lens) = self.batch;
        let pages_of =
            |len: i64| len.div_euclid(self.page) + i64::from(len.rem_euclid(self.page) != 0);
        // A column more than any sequence needs, so that every row of the table has an entry that nothing may read.
        let columns = seq_lens.iter().map(|&len| pages_of(len)).max().unwrap_or(0) + 1;
        // A page more than is used, all NaN.
        let pages = seq_lens.iter().map(|&len| pages_of(len)).sum::<i64>() + 1;
        let (d, dv) = self.widths;
        let (query, out) = self.floats;
        let (k, v) = self.caches;
        let (pad_query, pad_cache, pad_page) = self.padding;
        let mut geometry = Geometry::named(self.name())
            .symbols(&[
                ("T", query_lens.iter().sum()),
                ("Hq", self.ratio * self.kv_heads),
                ("D", d),
                ("N", pages),
                ("P", self.page),
                ("Hkv", self.kv_heads),
                ("Dv", dv),
                ("R", seq_lens.len() as i64),
                ("M", columns),
            ])
            .dtypes(&[
                ("query", query),
                ("k_cache", k),
                ("v_cache", v),
                ("out", out),
            ])
            .attr("scale", AttrValue::F64(1.0 / (d as f64).sqrt()))
            .padded(&[
                ("query", pad_query),
                ("out", pad_query),
                ("k_cache", pad_cache),
                ("v_cache", pad_cache),
            ])
            .outer_padded(&[("k_cache", pad_page), ("v_cache", pad_page)])
            .lengths("query_lens", query_lens)
            .lengths("seq_lens", seq_lens);
        // What is at its default is not given, as a caller would leave it.
        let (causal, window) = self.mask;
        if !causal {
            geometry = geometry.attr("causal", AttrValue::Bool(false));
        }
        if window != 0 {
            geometry = geometry.attr("window", AttrValue::I64(window));
        }
        if self.softcap != 0.0 {
            geometry = geometry.attr("softcap", AttrValue::F64(self.softcap));
        }
        for (name, scale) in [("k_scale", self.scales.0), ("v_scale", self.scales.1)] {
            if scale != 1.0 {
                geometry = geometry.attr(name, AttrValue::F64(scale));
            }
        }
        if self.sinks {
            geometry = geometry.with("sinks");
        }
        geometry
    }

    fn name(&self) -> String {
        let (d, dv) = self.widths;
        let mut name = format!("d{d}");
        if dv != d {
            name += &format!("_dv{dv}");
        }
        name += &format!("_gqa{}x{}_page{}", self.ratio, self.kv_heads, self.page);
        if !self.mask.0 {
            name += "_full";
        }
        if self.mask.1 != 0 {
            name += &format!("_window{}", self.mask.1);
        }
        if self.softcap != 0.0 {
            name += &format!("_softcap{}", self.softcap);
        }
        if self.sinks {
            name += "_sinks";
        }
        name += &format!(
            "_{}_{}_k{}_v{}",
            Shown(self.floats.0),
            Shown(self.floats.1),
            Shown(self.caches.0),
            Shown(self.caches.1)
        );
        if self.scales != (1.0, 1.0) {
            name += &format!("_scale{}_{}", self.scales.0, self.scales.1);
        }
        if self.padding != (0, 0, 0) {
            name += &format!(
                "_pad{}_{}_{}",
                self.padding.0, self.padding.1, self.padding.2
            );
        }
        let list = |lens: &[i64]| {
            lens.iter()
                .map(i64::to_string)
                .collect::<Vec<_>>()
                .join(".")
        };
        name + &format!("_q{}_s{}", list(self.batch.0), list(self.batch.1))
    }
}

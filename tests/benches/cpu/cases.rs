//! What is timed.

use overt::DType;
use overt::kernels::dtype::*;

/// Formats of weights, in the order of their size.
pub const WEIGHTS: [DType; 13] = [
    F32, F16, BF16, FP8_E4M3FN, Q8_0, Q6_K, Q5_K, Q5_0, Q4_1, Q4_0, Q4_K, MXFP4, FP8_E5M2,
];

/// Columns and depths of real layers: SmolLM2 135M (projection, MLP, output), Qwen3 8B (projection, MLP, output).
pub const LAYERS: [[i64; 2]; 6] = [
    [576, 576],
    [1536, 576],
    [49152, 576],
    [4096, 4096],
    [12288, 4096],
    [151_936, 4096],
];

/// Formats that ggml is held against.
pub const GGML: [DType; 4] = [Q8_0, Q4_0, Q4_1, Q4_K];

/// One product.
#[derive(Clone, Copy)]
pub struct Product {
    pub weight: DType,
    pub rows: i64,
    pub layer: [i64; 2],
    pub int8: bool,
}

/// Products of some rows.
pub fn products(rows: &[i64], layers: &[[i64; 2]], weights: &[DType]) -> Vec<Product> {
    let mut all = Vec::new();
    for &weight in weights {
        for &rows in rows {
            for &layer in layers {
                let depth = layer[1] as u64;
                if block(weight).is_none_or(|b| !depth.is_multiple_of(b.elements)) {
                    continue;
                }
                // The largest layer in f32 would be 2.5 GB.
                if layer[0] > 100_000 && !([BF16, Q8_0, Q4_K].contains(&weight) && rows == 1) {
                    continue;
                }
                for int8 in [false, true] {
                    if !int8 || is_block_format(weight) {
                        all.push(Product {
                            weight,
                            rows,
                            layer,
                            int8,
                        });
                    }
                }
            }
        }
    }
    all
}

/// One attention call: `batch` sequences of `keys` keys, of which the last `tokens` are queries.
#[derive(Clone, Copy)]
pub struct Attention {
    /// Query heads, KV heads, widths of keys and values.
    pub heads: [i64; 4],
    pub cache: DType,
    pub tokens: i64,
    pub keys: i64,
    pub batch: i64,
}

const SMOL: [i64; 4] = [9, 3, 64, 64];
const QWEN: [i64; 4] = [32, 8, 128, 128];
const GEMMA: [i64; 4] = [8, 4, 256, 256];
const LATENT: [i64; 4] = [16, 1, 576, 512];

/// Decode steps.
pub fn decodes() -> Vec<Attention> {
    let mut all = Vec::new();
    for (heads, keys, batch) in [
        (SMOL, 4096, 1),
        (SMOL, 32768, 1),
        (QWEN, 4096, 1),
        (QWEN, 32768, 1),
        (QWEN, 4096, 8),
        (GEMMA, 8192, 1),
        (LATENT, 8192, 1),
    ] {
        for cache in [BF16, F16, FP8_E4M3FN, Q8_0, Q4_0] {
            all.push(Attention {
                heads,
                cache,
                tokens: 1,
                keys,
                batch,
            });
        }
    }
    all
}

/// Prefills.
pub fn prefills() -> Vec<Attention> {
    let mut all = Vec::new();
    for heads in [SMOL, QWEN] {
        for tokens in [512, 2048] {
            for cache in [BF16, F16, Q8_0] {
                all.push(Attention {
                    heads,
                    cache,
                    tokens,
                    keys: tokens,
                    batch: 1,
                });
            }
        }
    }
    all
}

/// Ops that go row by row: name, symbols, types.
pub type Rowwise = (
    &'static str,
    &'static [(&'static str, i64)],
    &'static [(&'static str, DType)],
);

/// Each reads and writes more than the caches hold.
pub const ROWWISE: [Rowwise; 11] = [
    (
        "add.1",
        &[("T", 4096), ("D", 4096)],
        &[("a", BF16), ("b", BF16), ("out", BF16)],
    ),
    (
        "rms_norm.1",
        &[("T", 8192), ("D", 4096)],
        &[("x", BF16), ("weight", BF16), ("out", BF16)],
    ),
    (
        "rms_norm.1",
        &[("T", 4096), ("D", 4096)],
        &[("x", F32), ("weight", F32), ("out", F32)],
    ),
    (
        "add_rms_norm.1",
        &[("T", 4096), ("D", 4096)],
        &[
            ("x", BF16),
            ("residual", BF16),
            ("weight", BF16),
            ("out", BF16),
        ],
    ),
    (
        "rope.1",
        &[("T", 4096), ("H", 32), ("D", 128), ("F", 64)],
        &[("x", BF16), ("out", BF16)],
    ),
    (
        "silu_and_mul.1",
        &[("T", 2048), ("D2", 24576)],
        &[("x", BF16), ("out", BF16)],
    ),
    (
        "gelu_and_mul.1",
        &[("T", 2048), ("D2", 24576)],
        &[("x", BF16), ("out", BF16)],
    ),
    (
        "swiglu_clamped.1",
        &[("T", 2048), ("D2", 24576)],
        &[("x", BF16), ("out", BF16)],
    ),
    (
        "softmax.1",
        &[("T", 4096), ("D", 4096)],
        &[("x", F32), ("out", F32)],
    ),
    (
        "embedding.1",
        &[("V", 49152), ("D", 4096), ("T", 8192)],
        &[("table", BF16), ("out", BF16)],
    ),
    (
        "greedy_argmax.1",
        &[("T", 256), ("V", 151_936)],
        &[("logits", F32)],
    ),
];

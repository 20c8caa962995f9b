//! Shapes of language models in use, as data for workloads and geometries.
//!
//! Each row says how it is known. A shape *from memory* must be checked against the model's published config before a result
//! is claimed for that model; as a shape to test kernels on it needs no such check.

/// How a row is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Read in the model's published config.
    Config,
    /// Stated in a public discussion of the model.
    Discussion,
    /// Remembered, not looked up.
    Memory,
}

/// Attention of one kind of layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attention {
    /// Which layers, in words: `all`, `sliding`, `full`.
    pub layers: &'static str,
    /// Query heads.
    pub query_heads: i64,
    /// Key and value heads.
    pub kv_heads: i64,
    /// Width of queries and keys, in elements.
    pub key_width: i64,
    /// Width of values, in elements.
    pub value_width: i64,
    /// Keys that a query sees, its own included; 0 for all before it.
    pub window: i64,
    /// Soft cap of logits; 0 for none.
    pub softcap: f64,
    /// Whether each head has a sink.
    pub sinks: bool,
}

impl Attention {
    /// Query heads that share one key head.
    pub const fn gqa_ratio(&self) -> i64 {
        self.query_heads / self.kv_heads
    }

    const fn plain(query_heads: i64, kv_heads: i64, width: i64) -> Self {
        Attention {
            layers: "all",
            query_heads,
            kv_heads,
            key_width: width,
            value_width: width,
            window: 0,
            softcap: 0.0,
            sinks: false,
        }
    }

    const fn on(self, layers: &'static str) -> Self {
        Attention { layers, ..self }
    }

    const fn windowed(self, window: i64) -> Self {
        Attention { window, ..self }
    }
}

/// Everything else of a dense decoder, where it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// Width of the residual stream, in elements.
    pub hidden: i64,
    /// Width of the feed-forward part, in elements.
    pub feed_forward: i64,
    /// Decoder layers.
    pub layers: i64,
    /// Entries of the vocabulary.
    pub vocabulary: i64,
    /// The eps of its norms.
    pub norm_eps: f64,
    /// Base of the rotary frequencies.
    pub rope_base: f64,
    /// Whether the output matrix is the embedding's.
    pub tied_embedding: bool,
    /// Whether queries and keys are normalised by head before the rotation.
    pub qk_norm: bool,
}

/// Experts of a mixture, of which each token uses a few.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Experts {
    /// Experts of a layer.
    pub count: i64,
    /// Experts that a token uses.
    pub chosen: i64,
    /// Width of an expert's feed-forward part, in elements.
    pub feed_forward: i64,
    /// Experts that every token uses.
    pub shared: i64,
    /// Groups of experts, of which the best few are looked at; 1 for none.
    pub groups: i64,
    /// Groups that are looked at.
    pub top_groups: i64,
}

/// Latent attention: what queries, keys and values are projected from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latent {
    /// Width that queries are projected from.
    pub query: i64,
    /// Width that keys and values are projected from, which is cached.
    pub key_value: i64,
    /// Elements of a head that are rotated, cached once for all heads.
    pub rotated: i64,
    /// Elements of a head that are not.
    pub plain: i64,
    /// Width of a head's values.
    pub value: i64,
}

/// One model, or several of one shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Its name, as people write it.
    pub name: &'static str,
    /// Its attention, one entry for each kind of layer.
    pub attention: &'static [Attention],
    /// The rest, where all of it is known.
    pub body: Option<Body>,
    /// Its experts, where it has any. They replace the dense feed-forward part in most layers.
    pub experts: Option<Experts>,
    /// Its latent attention, where it has that.
    pub latent: Option<Latent>,
    /// How `attention` is known.
    pub attention_source: Source,
    /// How `body` is known; of no meaning without one.
    pub body_source: Source,
    /// What the numbers leave out.
    pub note: &'static str,
}

/// SmolLM2-135M.
pub const SMOLLM2_135M: Model = Model {
    name: "SmolLM2-135M",
    attention: &[Attention::plain(9, 3, 64)],
    body: Some(Body {
        hidden: 576,
        feed_forward: 1536,
        layers: 30,
        vocabulary: 49152,
        norm_eps: 1e-5,
        rope_base: 1e5,
        tied_embedding: true,
        qk_norm: false,
    }),
    experts: None,
    latent: None,
    attention_source: Source::Config,
    body_source: Source::Config,
    note: "widths, heads, layers and vocabulary were read in the config; norm_eps, rope_base and the tied embedding are from memory",
};

/// Qwen3-8B.
pub const QWEN3_8B: Model = Model {
    name: "Qwen3-8B",
    attention: &[Attention::plain(32, 8, 128)],
    body: Some(Body {
        hidden: 4096,
        feed_forward: 12288,
        layers: 36,
        vocabulary: 151_936,
        norm_eps: 1e-6,
        rope_base: 1e6,
        tied_embedding: false,
        qk_norm: true,
    }),
    experts: None,
    latent: None,
    attention_source: Source::Memory,
    body_source: Source::Memory,
    note: "",
};

/// Gemma 3 4B.
pub const GEMMA3_4B: Model = Model {
    name: "Gemma 3 4B",
    attention: &[
        Attention::plain(8, 4, 256)
            .on("29 of 34, sliding")
            .windowed(1024),
        Attention::plain(8, 4, 256).on("5 of 34, full"),
    ],
    body: Some(Body {
        hidden: 2560,
        feed_forward: 10240,
        layers: 34,
        vocabulary: 262_208,
        norm_eps: 1e-6,
        rope_base: 1e6,
        tied_embedding: true,
        qk_norm: true,
    }),
    experts: None,
    latent: None,
    attention_source: Source::Config,
    body_source: Source::Memory,
    note: "window and layers are from memory; sliding layers rotate with a base of 1e4, full ones with positions divided by 8; norms \
           multiply by 1 + weight, before and behind both parts of a layer",
};

/// GPT-OSS 20B.
pub const GPT_OSS_20B: Model = Model {
    name: "GPT-OSS 20B",
    attention: &[
        Attention {
            sinks: true,
            ..Attention::plain(64, 8, 64)
                .on("12 of 24, sliding")
                .windowed(128)
        },
        Attention {
            sinks: true,
            ..Attention::plain(64, 8, 64).on("12 of 24, full")
        },
    ],
    body: Some(Body {
        hidden: 2880,
        feed_forward: 2880,
        layers: 24,
        vocabulary: 201_088,
        norm_eps: 1e-5,
        rope_base: 150_000.0,
        tied_embedding: false,
        qk_norm: false,
    }),
    experts: Some(Experts {
        count: 32,
        chosen: 4,
        feed_forward: 2880,
        shared: 0,
        groups: 1,
        top_groups: 1,
    }),
    latent: None,
    attention_source: Source::Config,
    body_source: Source::Discussion,
    note: "experts in mxfp4, all else bf16; rotation by YaRN, factor 32 from a context of 4096; biases everywhere; clamped gate",
};

/// Qwen3-30B-A3B.
pub const QWEN3_30B_A3B: Model = Model {
    name: "Qwen3-30B-A3B",
    attention: &[Attention::plain(32, 4, 128)],
    body: Some(Body {
        hidden: 2048,
        feed_forward: 6144,
        layers: 48,
        vocabulary: 151_936,
        norm_eps: 1e-6,
        rope_base: 1e6,
        tied_embedding: false,
        qk_norm: true,
    }),
    experts: Some(Experts {
        count: 128,
        chosen: 8,
        feed_forward: 768,
        shared: 0,
        groups: 1,
        top_groups: 1,
    }),
    latent: None,
    attention_source: Source::Config,
    body_source: Source::Discussion,
    note: "every layer has experts; the dense width is unused; weights of the chosen experts are renormalised",
};

/// DeepSeek V3, its attention in the absorbed form of a decode step.
pub const DEEPSEEK_V3: Model = Model {
    name: "DeepSeek V3, decode",
    attention: &[Attention {
        key_width: 576,
        value_width: 512,
        ..Attention::plain(128, 1, 576)
    }],
    body: Some(Body {
        hidden: 7168,
        feed_forward: 18432,
        layers: 61,
        vocabulary: 129_280,
        norm_eps: 1e-6,
        rope_base: 1e4,
        tied_embedding: false,
        qk_norm: false,
    }),
    experts: Some(Experts {
        count: 256,
        chosen: 8,
        feed_forward: 2048,
        shared: 1,
        groups: 8,
        top_groups: 4,
    }),
    latent: Some(MLA),
    attention_source: Source::Config,
    body_source: Source::Discussion,
    note: "latent attention absorbed: one shared latent of 512 and 64 rotated elements is key, and its first 512 are value; the first 3 \
           layers are dense; weights are fp8 with a scale for each block of 128 by 128; vocabulary, eps and base are from memory",
};

/// The latent attention of DeepSeek V3.
pub const MLA: Latent = Latent {
    query: 1536,
    key_value: 512,
    rotated: 64,
    plain: 128,
    value: 128,
};

/// Every model whose shape is kept here.
pub const MODELS: &[Model] = &[
    SMOLLM2_135M,
    QWEN3_8B,
    GEMMA3_4B,
    GPT_OSS_20B,
    QWEN3_30B_A3B,
    DEEPSEEK_V3,
    attention_only(
        "Qwen3 MoE, 64 heads",
        &[Attention::plain(64, 4, 128)],
        Source::Config,
        "128 experts, 8 chosen",
    ),
    attention_only(
        "Qwen3 MoE, 32 heads",
        &[Attention::plain(32, 4, 128)],
        Source::Config,
        "128 experts, 8 chosen",
    ),
    attention_only(
        "Qwen3-14B",
        &[Attention::plain(40, 8, 128)],
        Source::Memory,
        "",
    ),
    attention_only(
        "Qwen2.5-7B",
        &[Attention::plain(28, 4, 128)],
        Source::Memory,
        "",
    ),
    attention_only(
        "Qwen3.5-35B",
        &[Attention::plain(16, 2, 256).on("one in four; the others are linear attention")],
        Source::Config,
        "a quarter of each head is rotated; 256 experts, 8 chosen, 1 shared",
    ),
    attention_only(
        "Gemma 3",
        &[
            Attention::plain(8, 4, 256)
                .on("five of six, sliding")
                .windowed(1024),
            Attention::plain(8, 4, 256).on("one of six, full"),
        ],
        Source::Config,
        "windows from 512 to 4096 by size, of which 1024 stands here",
    ),
    attention_only(
        "Gemma 3 1B",
        &[
            Attention::plain(4, 1, 256)
                .on("five of six, sliding")
                .windowed(512),
            Attention::plain(4, 1, 256).on("one of six, full"),
        ],
        Source::Config,
        "the window is from memory",
    ),
    attention_only(
        "Gemma 4",
        &[
            Attention::plain(8, 4, 256).on("sliding").windowed(512),
            Attention::plain(8, 4, 512).on("full"),
        ],
        Source::Config,
        "a quarter of each head is rotated on full layers; values may be the keys",
    ),
    attention_only(
        "GPT-OSS",
        &[
            Attention {
                sinks: true,
                ..Attention::plain(64, 8, 64)
                    .on("one of two, sliding")
                    .windowed(128)
            },
            Attention {
                sinks: true,
                ..Attention::plain(64, 8, 64).on("one of two, full")
            },
        ],
        Source::Config,
        "hidden 2880; 128 experts, 4 chosen; clamped gate",
    ),
    attention_only(
        "Llama 3 8B",
        &[Attention::plain(32, 8, 128)],
        Source::Memory,
        "",
    ),
    attention_only(
        "Llama 3 70B",
        &[Attention::plain(64, 8, 128)],
        Source::Memory,
        "",
    ),
    attention_only(
        "Llama 3.2 1B",
        &[Attention::plain(32, 8, 64)],
        Source::Memory,
        "",
    ),
    attention_only(
        "DeepSeek V3, prefill",
        &[Attention {
            key_width: 192,
            value_width: 128,
            ..Attention::plain(128, 128, 192)
        }],
        Source::Config,
        "latent attention expanded",
    ),
    attention_only(
        "Mistral 4",
        &[Attention::plain(32, 32, 128)],
        Source::Config,
        "latent attention expanded, latent 256 and 64",
    ),
];

const fn attention_only(
    name: &'static str,
    attention: &'static [Attention],
    source: Source,
    note: &'static str,
) -> Model {
    Model {
        name,
        attention,
        body: None,
        experts: None,
        latent: None,
        attention_source: source,
        body_source: source,
        note,
    }
}

/// The model of this name.
pub fn find(name: &str) -> Option<&'static Model> {
    MODELS.iter().find(|m| m.name == name)
}

//! Sizes and kinds, read from the metadata of the file.
//!
//! Keys are those of the GGUF convention, `ARCHITECTURE.key`. What an architecture does that no key says (Gemma's two rope bases, its scale of
//! the embedding) is written here beside its source.

use crate::error::EngineError;
use crate::gguf::{Gguf, Value};
use overt::kernels::ops::rope::{Scaling, amplitude, inv_freq};

/// The families of models that the engine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// Llama 2 and 3 and what shares their shape, SmolLM2 among them. Rope turns neighbours.
    Llama,
    /// Qwen 2 and 2.5: biases on queries, keys and values. Rope turns halves, as in all below.
    Qwen2,
    /// Qwen 3: queries and keys are normalised head by head.
    Qwen3,
    /// Gemma 3: as Qwen 3, with norms behind attention and feed-forward too, and windows on five of six layers.
    Gemma3,
}

impl Architecture {
    const ALL: [(Architecture, &'static str); 4] = [
        (Architecture::Llama, "llama"),
        (Architecture::Qwen2, "qwen2"),
        (Architecture::Qwen3, "qwen3"),
        (Architecture::Gemma3, "gemma3"),
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// How the feed-forward part gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// By the sigmoid-weighted gate.
    Silu,
    /// By Gelu in its tanh form.
    Gelu,
}

/// Positions as rope turns them.
#[derive(Clone, Debug, PartialEq)]
pub struct Positions {
    /// Radians a position for each pair that is turned.
    pub inv_freq: Vec<f32>,
    /// What cosine and sine are multiplied by.
    pub amplitude: f64,
}

/// Sliding windows.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Keys that a query sees, its own among them.
    pub tokens: i64,
    /// Every layer whose number, counted from 1, is a multiple of this sees all keys.
    pub full_every: usize,
    /// Positions on layers with a window.
    pub positions: Positions,
}

/// A model's sizes and kinds.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The family.
    pub architecture: Architecture,
    /// Number of layers.
    pub layers: usize,
    /// Width of the residual.
    pub width: i64,
    /// Query heads.
    pub heads: i64,
    /// Key and value heads.
    pub kv_heads: i64,
    /// Elements of a query's or key's head.
    pub key_head: i64,
    /// Elements of a value's head.
    pub value_head: i64,
    /// Width of the feed-forward part.
    pub feed_forward: i64,
    /// Tokens that the model was trained to see.
    pub context: usize,
    /// Added to the mean square in norms.
    pub eps: f64,
    /// What logits of attention are multiplied by.
    pub attention_scale: f64,
    /// What embedded rows are multiplied by.
    pub embedding_scale: f64,
    /// How the feed-forward part gates.
    pub gate: Gate,
    /// Positions on layers without a window.
    pub positions: Positions,
    /// Sliding windows, where the model has them.
    pub window: Option<Window>,
}

/// Sizes beyond these are no model of this kind, and keep products of sizes far from the end of 64 bits.
const MOST: u64 = 1 << 24;

impl Config {
    /// Reads the metadata.
    ///
    /// # Errors
    /// [`EngineError::File`] for a key that is missing or of another type, [`EngineError::Unsupported`] for what is not run here.
    pub fn from_gguf(file: &Gguf<'_>) -> Result<Config, EngineError> {
        let architecture = architecture(file.string("general.architecture")?)?;
        let name = architecture.name();
        let key = |key: &str| format!("{name}.{key}");
        let size = |key: String| -> Result<i64, EngineError> {
            let got = file.u64(&key)?;
            if (1..=MOST).contains(&got) {
                return Ok(got as i64);
            }
            Err(EngineError::Unsupported {
                what: key,
                got: got.to_string(),
                wanted: format!("1 to {MOST}"),
            })
        };
        let or = |key: String, default: i64| match file.value(&key) {
            None => Ok(default),
            Some(_) => size(key),
        };
        let width = size(key("embedding_length"))?;
        let heads = size(key("attention.head_count"))?;
        let kv_heads = or(key("attention.head_count_kv"), heads)?;
        if heads % kv_heads != 0 {
            return Err(EngineError::Unsupported {
                what: key("attention.head_count_kv"),
                got: kv_heads.to_string(),
                wanted: format!("a divisor of the {heads} query heads"),
            });
        }
        let key_head = or(key("attention.key_length"), (width / heads).max(1))?;
        let rotary = or(key("rope.dimension_count"), key_head)?;
        if rotary > key_head {
            return Err(EngineError::Unsupported {
                what: key("rope.dimension_count"),
                got: rotary.to_string(),
                wanted: format!("at most the head's {key_head}"),
            });
        }
        let base = file
            .optional(&key("rope.freq_base"), Gguf::f64)?
            .unwrap_or(10_000.0);
        let context = size(key("context_length"))?;
        let scaling = scaling(file, &key, context)?;
        let mut positions = Positions {
            inv_freq: inv_freq(base, rotary as usize, &scaling)?,
            amplitude: amplitude(&scaling)?,
        };
        factors(file, &mut positions.inv_freq)?;
        let mut config = Config {
            architecture,
            layers: size(key("block_count"))? as usize,
            width,
            heads,
            kv_heads,
            key_head,
            value_head: or(key("attention.value_length"), key_head)?,
            feed_forward: size(key("feed_forward_length"))?,
            context: context as usize,
            eps: eps(file, key("attention.layer_norm_rms_epsilon"))?,
            attention_scale: 1.0 / (key_head as f64).sqrt(),
            embedding_scale: 1.0,
            gate: Gate::Silu,
            positions,
            window: None,
        };
        config.refuse_unknown(file, &key)?;
        if architecture == Architecture::Gemma3 {
            config.gemma(file, &key, rotary as usize)?;
        }
        Ok(config)
    }

    /// Tokens that a query of this layer sees, or 0 for all.
    pub fn window_of(&self, layer: usize) -> i64 {
        match &self.window {
            Some(window) if !(layer + 1).is_multiple_of(window.full_every) => window.tokens,
            _ => 0,
        }
    }

    /// Whether queries and keys are normalised head by head.
    pub fn norms_heads(&self) -> bool {
        matches!(
            self.architecture,
            Architecture::Qwen3 | Architecture::Gemma3
        )
    }

    /// Whether heads of queries, keys and values can lie side by side in one row. Norms of heads rule it out: they see each head as a
    /// row, at one distance from the next.
    pub fn joins_heads(&self) -> bool {
        !self.norms_heads() && self.key_head == self.value_head
    }

    /// Whether rope turns neighbours rather than halves. The files of this family hold queries and keys in that order.
    pub fn interleaved(&self) -> bool {
        self.architecture == Architecture::Llama
    }

    /// What the metadata of Gemma need not say, from its reference code: embedded rows times the root of the width, Gelu, windows on five
    /// layers of six with positions of base 10,000 where no key says otherwise, and for the 62 layers of the largest model a scale by width over heads.
    fn gemma(
        &mut self,
        file: &Gguf<'_>,
        key: &dyn Fn(&str) -> String,
        rotary: usize,
    ) -> Result<(), EngineError> {
        self.embedding_scale = (self.width as f64).sqrt();
        self.gate = Gate::Gelu;
        if self.layers == 62 {
            self.attention_scale = 1.0 / ((self.width as f64 / self.heads as f64).sqrt());
        }
        let tokens = file
            .optional(&key("attention.sliding_window"), Gguf::u64)?
            .unwrap_or(0);
        let pattern = key("attention.sliding_window_pattern");
        let full_every = file.optional(&pattern, Gguf::u64)?.unwrap_or(6);
        if full_every == 0 {
            return Err(EngineError::Unsupported {
                what: pattern,
                got: full_every.to_string(),
                wanted: "1 or more".into(),
            });
        }
        let base = file
            .optional(&key("rope.freq_base_swa"), Gguf::f64)?
            .unwrap_or(10_000.0);
        if tokens > 0 {
            self.window = Some(Window {
                tokens: i64::try_from(tokens).unwrap_or(i64::MAX),
                full_every: usize::try_from(full_every).unwrap_or(usize::MAX),
                positions: Positions {
                    inv_freq: inv_freq(base, rotary, &Scaling::None)?,
                    amplitude: 1.0,
                },
            });
        }
        Ok(())
    }

    /// Refuses keys that change what a model computes and that are not followed here, so that it does not run as another one.
    fn refuse_unknown(
        &self,
        file: &Gguf<'_>,
        key: &dyn Fn(&str) -> String,
    ) -> Result<(), EngineError> {
        // Each with the value that changes nothing.
        let neutral = [
            ("expert_count", 0.0),
            ("attn_logit_softcapping", 0.0),
            ("final_logit_softcapping", 0.0),
            ("attention.clamp_kqv", 0.0),
            ("attention.max_alibi_bias", 0.0),
            ("logit_scale", 0.0),
            ("residual_scale", 0.0),
            ("embedding_scale", 0.0),
            ("attention.scale", 0.0),
            ("attention.causal", 1.0),
            ("rope.scale_linear", 1.0),
            ("rope.scaling.attn_factor", 1.0),
            ("rope.scaling.yarn_attn_factor", 1.0),
            ("rope.scaling.yarn_ext_factor", 1.0),
            ("rope.scaling.yarn_beta_fast", 32.0),
            ("rope.scaling.yarn_beta_slow", 1.0),
            ("rope.scaling.yarn_log_multiplier", 0.0),
        ];
        for (name, neutral) in neutral {
            let what = key(name);
            let number = |value: Value<'_>| match value {
                Value::Bool(truth) => Some(f64::from(u8::from(truth))),
                other => other.float().or_else(|| other.integer().map(|i| i as f64)),
            };
            if let Some(value) = file.value(&what)
                && number(value) != Some(neutral)
            {
                return Err(EngineError::Unsupported {
                    what,
                    got: format!("{value:?}"),
                    wanted: format!("models without it, or with {neutral}"),
                });
            }
        }
        if self.architecture != Architecture::Gemma3 {
            for name in ["attention.sliding_window_pattern", "rope.freq_base_swa"] {
                let what = key(name);
                if let Some(value) = file.value(&what) {
                    return Err(EngineError::Unsupported {
                        what,
                        got: format!("{value:?}"),
                        wanted: "windows with gemma3 alone".into(),
                    });
                }
            }
        }
        let window = key("attention.sliding_window");
        if self.architecture != Architecture::Gemma3
            && let Some(tokens) = file.optional(&window, Gguf::u64)?
            && tokens != 0
        {
            return Err(EngineError::Unsupported {
                what: window,
                got: tokens.to_string(),
                wanted: "windows with gemma3 alone".into(),
            });
        }
        Ok(())
    }
}

fn architecture(name: &str) -> Result<Architecture, EngineError> {
    Architecture::ALL
        .into_iter()
        .find(|(_, known)| *known == name)
        .map(|(architecture, _)| architecture)
        .ok_or_else(|| EngineError::Unsupported {
            what: "general.architecture".into(),
            got: format!("`{name}`"),
            wanted: Architecture::ALL.map(|(_, name)| name).join(", "),
        })
}

fn scaling(
    file: &Gguf<'_>,
    key: &dyn Fn(&str) -> String,
    context: i64,
) -> Result<Scaling, EngineError> {
    let kind_key = key("rope.scaling.type");
    let kind = file.optional(&kind_key, Gguf::string)?;
    let factor_key = key("rope.scaling.factor");
    let factor = file.optional(&factor_key, Gguf::f64)?;
    if let Some(got) = factor
        && !(got.is_finite() && got > 0.0)
    {
        return Err(EngineError::Unsupported {
            what: factor_key,
            got: got.to_string(),
            wanted: "a number above 0".into(),
        });
    }
    Ok(match (kind, factor) {
        (None, None) | (Some("none"), _) => Scaling::None,
        // Files that name a factor alone mean this kind.
        (None, Some(factor)) => Scaling::Linear { factor },
        (Some("linear"), factor) => Scaling::Linear {
            factor: factor.unwrap_or(1.0),
        },
        (Some("yarn"), factor) => Scaling::Yarn {
            factor: factor.unwrap_or(1.0),
            original_context: file
                .optional(&key("rope.scaling.original_context_length"), Gguf::u64)?
                .map_or(context as f64, |tokens| tokens as f64),
            beta_fast: 32.0,
            beta_slow: 1.0,
            truncate: true,
            mscale: None,
        },
        (Some(other), _) => {
            return Err(EngineError::Unsupported {
                what: kind_key,
                got: format!("`{other}`"),
                wanted: "none, linear or yarn; or factors as a tensor".into(),
            });
        }
    })
}

fn eps(file: &Gguf<'_>, what: String) -> Result<f64, EngineError> {
    let got = file.f64(&what)?;
    if got.is_finite() && got >= 0.0 {
        return Ok(got);
    }
    Err(EngineError::Unsupported {
        what,
        got: got.to_string(),
        wanted: "0, or a number above it".into(),
    })
}

/// Files with Llama 3.1's scaling hold what each frequency is divided by.
fn factors(file: &Gguf<'_>, inv_freq: &mut [f32]) -> Result<(), EngineError> {
    const NAME: &str = super::names::FACTORS;
    if file.info(NAME).is_none() {
        return Ok(());
    }
    let tensor = file.tensor(NAME)?;
    if tensor.shape() != [inv_freq.len() as i64] {
        return Err(EngineError::Shape {
            tensor: NAME.into(),
            got: tensor.shape().to_vec(),
            wanted: vec![inv_freq.len() as i64],
        });
    }
    if tensor.dtype() != overt::dtype::F32 {
        return Err(EngineError::Unsupported {
            what: format!("the type of `{NAME}`"),
            got: overt::dtype::Shown(tensor.dtype()).to_string(),
            wanted: "f32".into(),
        });
    }
    for (frequency, bytes) in inv_freq.iter_mut().zip(tensor.bytes().chunks_exact(4)) {
        *frequency /= f32::from_le_bytes(bytes.try_into().expect("four bytes"));
    }
    Ok(())
}

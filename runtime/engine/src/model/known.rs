//! Which tensors a model has. One that is not read would change what the model computes, or stands for a part that this engine does not know:
//! the model would run as another one, and nobody would see it.

use super::names;
use super::{Architecture, Config};
use crate::error::EngineError;
use crate::gguf::Gguf;

/// Refuses a file with a tensor that is not read, and one that lacks biases which its architecture always has. What else is missing is seen
/// when it is loaded.
pub(crate) fn check(file: &Gguf<'_>, config: &Config) -> Result<(), EngineError> {
    for tensor in file.tensors() {
        if !known(config, tensor.name()) {
            let (name, layers) = (config.architecture.name(), config.layers);
            return Err(EngineError::Unsupported {
                // Names come from the file: escaped, so that they cannot steer a terminal.
                what: format!("tensor `{}`", tensor.name().escape_debug()),
                got: format!("none that a {name} of {layers} layer(s) has"),
                wanted: "models without it".into(),
            });
        }
    }
    if config.architecture == Architecture::Qwen2 {
        for layer in 0..config.layers {
            for part in ["attn_q", "attn_k", "attn_v"] {
                file.tensor(&names::of(layer, part, "bias"))?;
            }
        }
    }
    Ok(())
}

fn known(config: &Config, name: &str) -> bool {
    let of_layer = || {
        let (layer, part) = name.strip_prefix("blk.")?.split_once('.')?;
        let (part, kind) = part.rsplit_once('.')?;
        let layer: usize = layer.parse().ok()?;
        // Written as it is asked for, so that `blk.00` is not taken for `blk.0`.
        let exact = layer < config.layers && names::of(layer, part, kind) == name;
        Some(exact && known_part(config, part, kind))
    };
    [
        names::EMBEDDING,
        names::OUTPUT_NORM,
        names::HEAD,
        names::FACTORS,
    ]
    .contains(&name)
        || of_layer().unwrap_or(false)
}

fn known_part(config: &Config, part: &str, kind: &str) -> bool {
    match part {
        "attn_q" | "attn_k" | "attn_v" | "attn_output" | "ffn_gate" | "ffn_up" | "ffn_down" => {
            kind == "weight" || kind == "bias"
        }
        "attn_norm" | "ffn_norm" => kind == "weight",
        "attn_q_norm" | "attn_k_norm" => kind == "weight" && config.norms_heads(),
        "post_attention_norm" | "post_ffw_norm" => {
            kind == "weight" && config.architecture == Architecture::Gemma3
        }
        _ => false,
    }
}

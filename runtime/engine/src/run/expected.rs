//! How often each op has to be called: counted from the model's sizes, so that what ran can be held against it.

use super::part::DevicePart;
use crate::forward::{Batch, Kind};
use crate::model::{Attention, Config};

/// How many calls of each kind a pass of this batch makes, from the model's shape alone.
pub(super) fn expected(config: &Config, parts: &[DevicePart], batch: &Batch) -> Vec<(Kind, u64)> {
    let layers = config.layers as u64;
    let draws = u64::from(!batch.last.is_empty());
    let gathers = if batch.last.len() == batch.ids.len() {
        0
    } else {
        2 * draws
    };
    let norms = |norm: Option<bool>| u64::from(norm.unwrap_or(false));
    let mut products = draws;
    let mut extra = 0;
    for layer in parts.iter().flat_map(|part| &part.weights.layers) {
        products += 2 + layer.gate_up.len() as u64;
        products += match &layer.attention {
            Attention::Fused(_) => 1,
            Attention::Parts(_) => 3,
            Attention::Normed { .. } => {
                extra += 2;
                3
            }
        };
        extra += norms(Some(layer.output_norm.is_some())) + norms(Some(layer.down_norm.is_some()));
    }
    let turned = if config.joins_heads() { 1 } else { 2 };
    let token = if batch.draws() {
        Kind::Sample
    } else {
        Kind::Argmax
    };
    vec![
        (Kind::Embedding, 1 + gathers),
        (Kind::RmsNorm, 1 + extra),
        (Kind::AddRmsNorm, 2 * layers - 1 + draws),
        (Kind::Matmul, products),
        (Kind::Rope, turned * layers),
        (Kind::Cache, layers),
        (Kind::Attention, layers),
        (Kind::Gate, layers),
        (token, draws),
    ]
}

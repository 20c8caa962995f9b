//! The calls of a pass, in order.

use super::ops::{Kind, Ops, Witnesses};
use super::{Batch, Views};
use crate::model::{Attention, Config, Layer, Linear, Weights};
use crate::run::Cache;
use overt::{Attr, Call, Error, Tensor};

/// What a pass through one device's layers is made of.
pub(crate) struct Part<'a> {
    pub config: &'a Config,
    pub weights: &'a Weights,
    pub cache: &'a Cache,
    pub ops: &'a Ops,
    pub witnesses: Option<&'a Witnesses>,
}

/// The calls for a batch whose control data lies in `views`. Their number and order depend on the batch's sizes alone.
pub(crate) fn calls<'a>(
    part: &Part<'a>,
    views: &'a Views,
    batch: &Batch,
) -> Result<Vec<Call<'a>>, Error> {
    let mut pass = Pass {
        part,
        views,
        bounds: [batch.max_query_len(), batch.max_seq_len()],
        draws: batch.draws(),
        calls: Vec::with_capacity(part.weights.layers.len() * 14 + 8),
    };
    let weights = part.weights;
    if let Some(table) = &weights.embedding {
        pass.embed(table)?;
    }
    for layer in &weights.layers {
        pass.layer(layer)?;
    }
    if let Some((norm, head)) = &weights.head
        && !batch.last.is_empty()
    {
        pass.head(norm, head)?;
    }
    Ok(pass.calls)
}

struct Pass<'p, 'a> {
    part: &'p Part<'a>,
    views: &'a Views,
    /// Greatest number of a request's tokens and keys.
    bounds: [i64; 2],
    draws: bool,
    calls: Vec<Call<'a>>,
}

impl<'a> Pass<'_, 'a> {
    fn call(&self, kind: Kind) -> Call<'a> {
        self.witnessed(kind, Call::new(self.part.ops.op(kind)))
    }

    fn witnessed(&self, kind: Kind, call: Call<'a>) -> Call<'a> {
        match self.part.witnesses {
            Some(witnesses) => call.witnessed(witnesses.of(kind)),
            None => call,
        }
    }

    fn embed(&mut self, table: &'a Tensor) -> Result<(), Error> {
        let scale = self.part.config.embedding_scale;
        let call = self
            .call(Kind::Embedding)
            .operand("table", table)?
            .operand("ids", &self.views.control.ids)?
            .operand("out", &self.views.residual)?
            .attr("scale", Attr::F64(scale))?;
        self.calls.push(call);
        Ok(())
    }

    fn layer(&mut self, layer: &'a Layer) -> Result<(), Error> {
        let (views, config) = (self.views, self.part.config);
        if layer.number == 0 {
            // Nothing waits to be added yet.
            self.norm(&views.residual, &layer.attention_norm, &views.normed)?;
        } else {
            self.add_norm(
                &views.given,
                &views.residual,
                &layer.attention_norm,
                &views.normed,
            )?;
        }
        self.project(&layer.attention)?;
        self.rope(layer.number)?;
        self.store(layer.number)?;
        self.attend(layer.number)?;
        self.product(&layer.output, &views.attended[1], &views.given)?;
        if let Some(norm) = &layer.output_norm {
            self.norm(&views.given, norm, &views.given)?;
        }
        self.add_norm(
            &views.given,
            &views.residual,
            &layer.feed_norm,
            &views.normed,
        )?;
        match layer.gate_up.as_slice() {
            [whole] => self.product(whole, &views.normed, &views.gate_up)?,
            parts => {
                for (linear, out) in parts.iter().zip(&views.gate_up_parts) {
                    self.product(linear, &views.normed, out)?;
                }
            }
        }
        let gate = self
            .call(Kind::Gate)
            .operand("x", &views.gate_up)?
            .operand("out", &views.gated)?;
        self.calls.push(gate);
        self.product(&layer.down, &views.gated, &views.given)?;
        if let Some(norm) = &layer.down_norm {
            self.norm(&views.given, norm, &views.given)?;
        }
        debug_assert!(layer.number < config.layers);
        Ok(())
    }

    fn project(&mut self, attention: &'a Attention) -> Result<(), Error> {
        let views = self.views;
        let each = match attention {
            Attention::Fused(linear) => {
                let whole = views.projected.as_ref().expect("heads that can be joined");
                return self.product(linear, &views.normed, whole);
            }
            Attention::Parts(parts) | Attention::Normed { parts, .. } => parts,
        };
        for (linear, out) in each.iter().zip(&views.projected_parts) {
            self.product(linear, &views.normed, out)?;
        }
        if let Attention::Normed { norms, .. } = attention {
            for (norm, heads) in norms.iter().zip(&views.by_head) {
                self.norm(heads, norm, heads)?;
            }
        }
        Ok(())
    }

    fn rope(&mut self, layer: usize) -> Result<(), Error> {
        let config = self.part.config;
        let windowed = config.window_of(layer) > 0;
        let positions = match (&config.window, windowed) {
            (Some(window), true) => &window.positions,
            _ => &config.positions,
        };
        let frequencies = &self.part.weights.frequencies[usize::from(windowed)];
        for heads in &self.views.turned {
            let call = self
                .call(Kind::Rope)
                .operand("x", heads)?
                .operand("positions", &self.views.control.positions)?
                .operand("inv_freq", frequencies)?
                .operand("out", heads)?
                .attr("interleaved", Attr::Bool(config.interleaved()))?
                .attr("amplitude", Attr::F64(positions.amplitude))?;
            self.calls.push(call);
        }
        Ok(())
    }

    fn store(&mut self, layer: usize) -> Result<(), Error> {
        let [_, keys, values] = &self.views.heads;
        let [k_cache, v_cache] = self.part.cache.of(layer);
        let call = self
            .call(Kind::Cache)
            .operand("key", keys)?
            .operand("value", values)?
            .operand("slots", &self.views.control.slots)?
            .operand("k_cache", k_cache)?
            .operand("v_cache", v_cache)?;
        self.calls.push(call);
        Ok(())
    }

    fn attend(&mut self, layer: usize) -> Result<(), Error> {
        let (config, control) = (self.part.config, &self.views.control);
        let [k_cache, v_cache] = self.part.cache.of(layer);
        let [max_query_len, max_seq_len] = self.bounds;
        let call = self
            .call(Kind::Attention)
            .operand("query", &self.views.heads[0])?
            .operand("k_cache", k_cache)?
            .operand("v_cache", v_cache)?
            .operand("block_table", &control.block_table)?
            .operand("seq_lens", &control.seq_lens)?
            .operand("query_start", &control.query_start)?
            .operand("out", &self.views.attended[0])?
            .attr("scale", Attr::F64(config.attention_scale))?
            .attr("window", Attr::I64(config.window_of(layer)))?
            .attr("max_query_len", Attr::I64(max_query_len))?
            .attr("max_seq_len", Attr::I64(max_seq_len))?;
        self.calls.push(call);
        Ok(())
    }

    fn head(&mut self, norm: &'a Tensor, head: &'a Linear) -> Result<(), Error> {
        let views = self.views;
        let (given, residual) = match &views.last {
            // The rows that are wanted, by the op that fetches rows.
            Some([given, residual]) => {
                for (from, to) in [(&views.given, given), (&views.residual, residual)] {
                    let call = self
                        .call(Kind::Embedding)
                        .operand("table", from)?
                        .operand("ids", &views.control.last)?
                        .operand("out", to)?;
                    self.calls.push(call);
                }
                (given, residual)
            }
            None => (&views.given, &views.residual),
        };
        self.add_norm(given, residual, norm, &views.last_normed)?;
        self.product(head, &views.last_normed, &views.logits)?;
        let control = &views.control;
        let call = match self.draws {
            false => self.call(Kind::Argmax).operand("logits", &views.logits)?,
            true => self
                .call(Kind::Sample)
                .operand("logits", &views.logits)?
                .operand("temperature", &control.temperature)?
                .operand("top_k", &control.top_k)?
                .operand("top_p", &control.top_p)?
                .operand("min_p", &control.min_p)?
                .operand("seed", &control.seed)?
                .operand("draw", &control.draw)?,
        };
        self.calls.push(call.operand("out", &views.tokens)?);
        Ok(())
    }

    fn product(&mut self, linear: &'a Linear, a: &'a Tensor, out: &'a Tensor) -> Result<(), Error> {
        let call = linear.call(&self.part.ops.matmul, a, out)?;
        self.calls.push(self.witnessed(Kind::Matmul, call));
        Ok(())
    }

    fn norm(&mut self, x: &'a Tensor, weight: &'a Tensor, out: &'a Tensor) -> Result<(), Error> {
        let call = self
            .call(Kind::RmsNorm)
            .operand("x", x)?
            .operand("weight", weight)?
            .operand("out", out)?
            .attr("eps", Attr::F64(self.part.config.eps))?;
        self.calls.push(call);
        Ok(())
    }

    fn add_norm(
        &mut self,
        x: &'a Tensor,
        residual: &'a Tensor,
        weight: &'a Tensor,
        out: &'a Tensor,
    ) -> Result<(), Error> {
        let call = self
            .call(Kind::AddRmsNorm)
            .operand("x", x)?
            .operand("residual", residual)?
            .operand("weight", weight)?
            .operand("out", out)?
            .attr("eps", Attr::F64(self.part.config.eps))?;
        self.calls.push(call);
        Ok(())
    }
}

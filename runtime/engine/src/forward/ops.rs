//! The ops that a pass is made of.

use crate::model::Gate;
use overt::{Call, Error, Op, Runtime, Witness};

/// An op of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Rows of the table, and rows of a pass whose logits are wanted.
    Embedding,
    /// Norms without a sum before them.
    RmsNorm,
    /// Sums into the residual, and its norm.
    AddRmsNorm,
    /// Products with weights.
    Matmul,
    /// Positions.
    Rope,
    /// New keys and values into the cache.
    Cache,
    /// Attention.
    Attention,
    /// The feed-forward part's gate.
    Gate,
    /// The token of the greatest logit.
    Argmax,
    /// A token drawn from the logits.
    Sample,
}

impl Kind {
    /// All, in the order of the declaration.
    pub const ALL: [Kind; 10] = [
        Kind::Embedding,
        Kind::RmsNorm,
        Kind::AddRmsNorm,
        Kind::Matmul,
        Kind::Rope,
        Kind::Cache,
        Kind::Attention,
        Kind::Gate,
        Kind::Argmax,
        Kind::Sample,
    ];
}

/// Handles of them.
pub(crate) struct Ops {
    pub embedding: Op,
    pub rms_norm: Op,
    pub add_rms_norm: Op,
    pub matmul: Op,
    pub rope: Op,
    pub cache: Op,
    pub attention: Op,
    pub gate: Op,
    pub argmax: Op,
    pub sample: Op,
}

impl Ops {
    pub fn of(runtime: &Runtime, gate: Gate) -> Result<Ops, Error> {
        Ok(Ops {
            embedding: runtime.op("embedding.1")?,
            rms_norm: runtime.op("rms_norm.1")?,
            add_rms_norm: runtime.op("add_rms_norm.1")?,
            matmul: runtime.op("matmul_bt.1")?,
            rope: runtime.op("rope.1")?,
            cache: runtime.op("reshape_and_cache.1")?,
            attention: runtime.op("paged_attention.1")?,
            gate: runtime.op(match gate {
                Gate::Silu => "silu_and_mul.1",
                Gate::Gelu => "gelu_and_mul.1",
            })?,
            argmax: runtime.op("greedy_argmax.1")?,
            sample: runtime.op("sample.1")?,
        })
    }

    /// The op of a kind.
    pub fn op(&self, kind: Kind) -> &Op {
        match kind {
            Kind::Embedding => &self.embedding,
            Kind::RmsNorm => &self.rms_norm,
            Kind::AddRmsNorm => &self.add_rms_norm,
            Kind::Matmul => &self.matmul,
            Kind::Rope => &self.rope,
            Kind::Cache => &self.cache,
            Kind::Attention => &self.attention,
            Kind::Gate => &self.gate,
            Kind::Argmax => &self.argmax,
            Kind::Sample => &self.sample,
        }
    }

    /// The kind of a call of these ops.
    pub fn kind(&self, call: &Call<'_>) -> Kind {
        Kind::ALL
            .into_iter()
            .find(|kind| self.op(*kind).name() == call.op().name())
            .expect("calls of a pass are of its ops")
    }
}

/// A witness for each kind.
#[derive(Clone, Default)]
pub(crate) struct Witnesses([Witness; Kind::ALL.len()]);

impl Witnesses {
    pub fn of(&self, kind: Kind) -> &Witness {
        &self.0[kind as usize]
    }
}

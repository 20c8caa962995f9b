//! Weights on devices.

use overt::{Attr, Call, Error, Op, Tensor};

/// A product with a weight.
pub struct Linear {
    /// `[rows, depth]`, repacked where the kernel that serves one row wants it so.
    pub weight: Tensor,
    /// Added to each row of the result.
    pub bias: Option<Tensor>,
    /// Whether activations are rounded to 8 bits first.
    pub rounded: bool,
}

impl Linear {
    /// `out = a · weightᵀ + bias`, for `a` of `[T, depth]` and `out` of `[T, rows]`.
    pub fn call<'a>(
        &'a self,
        op: &'a Op,
        a: &'a Tensor,
        out: &'a Tensor,
    ) -> Result<Call<'a>, Error> {
        product(op, a, &self.weight, self.bias.as_ref(), out, self.rounded)
    }

    /// Number of results a row.
    pub fn rows(&self) -> i64 {
        self.weight.shape()[0]
    }
}

/// The call of one product.
pub fn product<'a>(
    op: &'a Op,
    a: &'a Tensor,
    weight: &'a Tensor,
    bias: Option<&'a Tensor>,
    out: &'a Tensor,
    rounded: bool,
) -> Result<Call<'a>, Error> {
    let mut call = Call::new(op)
        .operand("a", a)?
        .operand("b", weight)?
        .operand("out", out)?;
    if let Some(bias) = bias {
        call = call.operand("bias", bias)?;
    }
    if rounded {
        call = call.attr("int8_activations", Attr::Bool(true))?;
    }
    Ok(call)
}

/// Weights of queries, keys and values.
pub enum Attention {
    /// One product for all, whose rows are queries, then keys, then values.
    Fused(Linear),
    /// One each.
    Parts(Box<[Linear; 3]>),
    /// One each, and queries and keys are normalised head by head.
    Normed {
        /// Queries, keys, values.
        parts: Box<[Linear; 3]>,
        /// Of queries and of keys, a factor for each element of a head.
        norms: [Tensor; 2],
    },
}

/// The weights of one layer.
pub struct Layer {
    /// Its number in the model.
    pub number: usize,
    /// Factors of the norm before attention.
    pub attention_norm: Tensor,
    /// Queries, keys and values.
    pub attention: Attention,
    /// What attention gives back to the residual.
    pub output: Linear,
    /// Factors of the norm behind it, where the model has one.
    pub output_norm: Option<Tensor>,
    /// Factors of the norm before the feed-forward part.
    pub feed_norm: Tensor,
    /// Gate, then up: one product, or one each where the file's types differ.
    pub gate_up: Vec<Linear>,
    /// What the feed-forward part gives back.
    pub down: Linear,
    /// Factors of the norm behind it, where the model has one.
    pub down_norm: Option<Tensor>,
}

/// The weights that lie on one device.
pub struct Weights {
    /// The table of tokens, on the first device.
    pub embedding: Option<Tensor>,
    /// Bytes that the table has for itself; 0 where it is the head's memory, or the file's.
    pub embedding_bytes: u64,
    /// Layers, in order.
    pub layers: Vec<Layer>,
    /// Norm and head, on the last device.
    pub head: Option<(Tensor, Linear)>,
    /// Frequencies: of layers without a window, and of those with.
    pub frequencies: [Tensor; 2],
}

impl Weights {
    /// Bytes of the table, and of the products' weights and biases, as they lie on the device.
    pub fn bytes(&self) -> u64 {
        let linear = |linear: &Linear| {
            linear.weight.allocation().bytes()
                + linear
                    .bias
                    .as_ref()
                    .map_or(0, |bias| bias.allocation().bytes())
        };
        let layers = self.layers.iter().map(|layer| {
            let attention = match &layer.attention {
                Attention::Fused(whole) => linear(whole),
                Attention::Parts(parts) | Attention::Normed { parts, .. } => {
                    parts.iter().map(linear).sum()
                }
            };
            attention
                + linear(&layer.output)
                + layer.gate_up.iter().map(linear).sum::<u64>()
                + linear(&layer.down)
        });
        layers.sum::<u64>()
            + self.embedding_bytes
            + self.head.as_ref().map_or(0, |(_, head)| linear(head))
    }
}

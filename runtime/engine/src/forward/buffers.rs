//! Memory of a pass: allocated once for the greatest batch, viewed for each.

use super::control::{self, Control};
use crate::error::EngineError;
use crate::model::{Config, Weights};
use overt::{Allocation, DType, Device, MemoryKind, Tensor, View, dtype};
use std::sync::Arc;

/// Sizes of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sizes {
    /// Tokens of all requests.
    pub tokens: i64,
    /// Requests.
    pub requests: i64,
    /// Rows whose logits are wanted.
    pub drawn: i64,
    /// Columns of the table of pages.
    pub pages: i64,
}

/// One device's memory.
pub(crate) struct Buffers {
    control: Arc<Allocation>,
    rows: Vec<(Row, Arc<Allocation>)>,
    dtype: DType,
    most: Sizes,
}

/// Buffers with a row for each token, or for each drawn row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Residual,
    Normed,
    Given,
    Queries,
    Keys,
    Values,
    Attended,
    GateUp,
    Gated,
    LastGiven,
    LastResidual,
    LastNormed,
    Logits,
    Tokens,
}

/// A pass's tensors, for one batch's sizes. `[T, …]` for each token, `[L, …]` for each drawn row.
#[derive(Clone)]
pub(crate) struct Views {
    pub control: Control,
    /// The residual.
    pub residual: Tensor,
    /// What a norm gave.
    pub normed: Tensor,
    /// What a part of a layer gives back, to be added to the residual next.
    pub given: Tensor,
    /// Results of the products of queries, keys and values, side by side where the model's heads allow it.
    pub projected: Option<Tensor>,
    /// The same, each for itself.
    pub projected_parts: [Tensor; 3],
    /// Queries and keys as rope turns them: one, or one each. `[T, heads, D]`.
    pub turned: Vec<Tensor>,
    /// Queries and keys as norms see them, a head a row; empty without such norms.
    pub by_head: Vec<Tensor>,
    /// Queries, keys and values by heads. `[T, heads, D]`.
    pub heads: [Tensor; 3],
    /// What attention gives, by heads and flat.
    pub attended: [Tensor; 2],
    /// Gate and up side by side, and where each product of them goes.
    pub gate_up: Tensor,
    /// As above.
    pub gate_up_parts: Vec<Tensor>,
    /// The gate's result.
    pub gated: Tensor,
    /// Rows whose logits are wanted, of `given` and of the residual; the very same where all are.
    pub last: Option<[Tensor; 2]>,
    /// Their norm.
    pub last_normed: Tensor,
    /// `[L, vocabulary]`.
    pub logits: Tensor,
    /// `[L]`.
    pub tokens: Tensor,
}

impl Buffers {
    /// Memory for batches of up to these sizes.
    pub fn new(
        device: &Device,
        config: &Config,
        weights: &Weights,
        dtype: DType,
        most: Sizes,
        vocabulary: i64,
    ) -> Result<Buffers, EngineError> {
        let (wide, up) = (config.width, config.feed_forward);
        let queries = config.heads * config.key_head;
        let keys = config.kv_heads * config.key_head;
        let values = config.kv_heads * config.value_head;
        let joined = config.joins_heads();
        let token = |row, width| (row, most.tokens * width, dtype);
        let drawn = |row, width| (row, most.drawn * width, dtype);
        let mut wanted = vec![
            token(Row::Residual, wide),
            token(Row::Normed, wide),
            token(Row::Given, wide),
            // With room for all three where one product gives them.
            token(
                Row::Queries,
                if joined {
                    queries + keys + values
                } else {
                    queries
                },
            ),
            token(Row::Keys, keys),
            token(Row::Values, values),
            token(Row::Attended, config.heads * config.value_head),
            token(Row::GateUp, 2 * up),
            token(Row::Gated, up),
        ];
        if weights.head.is_some() {
            wanted.extend([
                drawn(Row::LastGiven, wide),
                drawn(Row::LastResidual, wide),
                drawn(Row::LastNormed, wide),
                (Row::Logits, most.drawn * vocabulary, dtype::F32),
                (Row::Tokens, most.drawn, dtype::I32),
            ]);
        }
        let allocate = |bytes| Allocation::new(device, bytes, 0, MemoryKind::Device);
        let mut rows = Vec::with_capacity(wanted.len());
        for (row, elements, dtype) in wanted {
            let bytes = dtype::bytes_for(dtype, elements as u64).unwrap_or(0);
            rows.push((row, allocate(bytes)?));
        }
        Ok(Buffers {
            control: allocate(control::bytes(&most))?,
            rows,
            dtype,
            most,
        })
    }

    /// Views for a batch. A device without the head has views of no rows in its place.
    pub fn views(
        &self,
        config: &Config,
        weights: &Weights,
        sizes: &Sizes,
    ) -> Result<Views, EngineError> {
        debug_assert!(sizes.tokens <= self.most.tokens && sizes.requests <= self.most.requests);
        let &Sizes { tokens, drawn, .. } = sizes;
        let (wide, up) = (config.width, config.feed_forward);
        let (q, kv) = (config.heads, config.kv_heads);
        let (k_head, v_head) = (config.key_head, config.value_head);
        let flat = |row, width| self.view(row, self.dtype, &[tokens, width]);
        let (projected, projected_parts, turned, by_head, heads);
        if config.joins_heads() {
            let all = (q + 2 * kv) * k_head;
            let whole = flat(Row::Queries, all)?;
            projected_parts = [
                whole.slice(1, 0, q * k_head)?,
                whole.slice(1, q * k_head, kv * k_head)?,
                whole.slice(1, (q + kv) * k_head, kv * k_head)?,
            ];
            projected = Some(whole);
            let part = |heads: i64, start: i64| -> Result<Tensor, EngineError> {
                let view = View::strided(self.dtype, &[tokens, heads, k_head], &[all, k_head, 1])?;
                let bytes = dtype::bytes_for(self.dtype, (start * k_head) as u64).unwrap_or(0);
                Ok(Tensor::over(self.of(Row::Queries).clone(), view, bytes)?)
            };
            turned = vec![part(q + kv, 0)?];
            by_head = Vec::new();
            heads = [part(q, 0)?, part(kv, q)?, part(kv, q + kv)?];
        } else {
            projected = None;
            projected_parts = [
                flat(Row::Queries, q * k_head)?,
                flat(Row::Keys, kv * k_head)?,
                flat(Row::Values, kv * v_head)?,
            ];
            heads = [
                self.view(Row::Queries, self.dtype, &[tokens, q, k_head])?,
                self.view(Row::Keys, self.dtype, &[tokens, kv, k_head])?,
                self.view(Row::Values, self.dtype, &[tokens, kv, v_head])?,
            ];
            turned = heads[..2].to_vec();
            by_head = vec![
                self.view(Row::Queries, self.dtype, &[tokens * q, k_head])?,
                self.view(Row::Keys, self.dtype, &[tokens * kv, k_head])?,
            ];
        }
        let gate_up = flat(Row::GateUp, 2 * up)?;
        let gate_up_parts = vec![gate_up.slice(1, 0, up)?, gate_up.slice(1, up, up)?];
        let here = weights.head.is_some();
        let last = |row, dtype, shape: &[i64]| match here {
            true => self.view(row, dtype, shape),
            false => Ok(Tensor::over(
                self.of(Row::Given).clone(),
                View::contiguous(dtype, &[0])?,
                0,
            )?),
        };
        let vocabulary = weights.head.as_ref().map_or(0, |(_, head)| head.rows());
        Ok(Views {
            control: Control::over(&self.control, sizes)?,
            residual: flat(Row::Residual, wide)?,
            normed: flat(Row::Normed, wide)?,
            given: flat(Row::Given, wide)?,
            projected,
            projected_parts,
            turned,
            by_head,
            heads,
            attended: [
                self.view(Row::Attended, self.dtype, &[tokens, q, v_head])?,
                flat(Row::Attended, q * v_head)?,
            ],
            gate_up,
            gate_up_parts,
            gated: flat(Row::Gated, up)?,
            last: match here && drawn != tokens {
                true => Some([
                    self.view(Row::LastGiven, self.dtype, &[drawn, wide])?,
                    self.view(Row::LastResidual, self.dtype, &[drawn, wide])?,
                ]),
                false => None,
            },
            last_normed: last(Row::LastNormed, self.dtype, &[drawn, wide])?,
            logits: last(Row::Logits, dtype::F32, &[drawn, vocabulary])?,
            tokens: last(Row::Tokens, dtype::I32, &[drawn])?,
        })
    }

    fn of(&self, row: Row) -> &Arc<Allocation> {
        let found = self.rows.iter().find(|(known, _)| *known == row);
        &found.expect("allocated with the buffers").1
    }

    fn view(&self, row: Row, dtype: DType, shape: &[i64]) -> Result<Tensor, EngineError> {
        Ok(Tensor::over(
            self.of(row).clone(),
            View::contiguous(dtype, shape)?,
            0,
        )?)
    }
}

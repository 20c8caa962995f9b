//! What differs from pass to pass: tokens, positions, where keys and values go, and how to draw.
//!
//! It lies in one allocation, written in one copy: each array begins at a boundary of 64 bytes, in an order that depends on the numbers of tokens,
//! requests and drawn rows alone, so that a captured pass finds it where it was.

use super::Sizes;
use crate::error::EngineError;
use overt::{Allocation, DType, Tensor, View, dtype};
use std::sync::Arc;

/// One batch, as the host sees it. Requests stand in the order of their rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    /// Tokens, of all requests.
    pub ids: Vec<i32>,
    /// Their positions.
    pub positions: Vec<i32>,
    /// Where their keys and values go, in rows of the cache.
    pub slots: Vec<i64>,
    /// First token of each request, and the number of tokens.
    pub query_start: Vec<i32>,
    /// Keys of each request, its tokens in this pass among them.
    pub seq_lens: Vec<i32>,
    /// Pages of each request, `Sizes::pages` each.
    pub block_table: Vec<i32>,
    /// Rows whose logits are wanted.
    pub last: Vec<i32>,
    /// How to draw from each of them.
    pub temperature: Vec<f32>,
    /// As above.
    pub top_k: Vec<i32>,
    /// As above.
    pub top_p: Vec<f32>,
    /// As above.
    pub min_p: Vec<f32>,
    /// As above.
    pub seed: Vec<i64>,
    /// As above.
    pub draw: Vec<i64>,
}

/// Tensors over one block of control data.
#[derive(Clone)]
pub(crate) struct Control {
    pub ids: Tensor,
    pub positions: Tensor,
    pub slots: Tensor,
    pub query_start: Tensor,
    pub seq_lens: Tensor,
    pub block_table: Tensor,
    pub last: Tensor,
    pub temperature: Tensor,
    pub top_k: Tensor,
    pub top_p: Tensor,
    pub min_p: Tensor,
    pub seed: Tensor,
    pub draw: Tensor,
    /// All of it, as bytes.
    pub whole: Tensor,
}

const BOUNDARY: u64 = 64;

/// Bytes of a block for these sizes.
pub(super) fn bytes(sizes: &Sizes) -> u64 {
    shapes(sizes)
        .iter()
        .map(|(dtype, shape)| {
            padded(dtype::bytes_for(*dtype, shape.iter().product::<i64>() as u64).unwrap_or(0))
        })
        .sum()
}

fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(BOUNDARY)
}

/// The arrays in order. The order of [`Batch::write`] is the same.
fn shapes(sizes: &Sizes) -> [(DType, Vec<i64>); 13] {
    let &Sizes {
        tokens,
        requests,
        drawn,
        pages,
    } = sizes;
    [
        (dtype::I32, vec![tokens]),
        (dtype::I32, vec![tokens]),
        (dtype::I64, vec![tokens]),
        (dtype::I32, vec![requests + 1]),
        (dtype::I32, vec![requests]),
        (dtype::I32, vec![requests, pages]),
        (dtype::I32, vec![drawn]),
        (dtype::F32, vec![drawn]),
        (dtype::I32, vec![drawn]),
        (dtype::F32, vec![drawn]),
        (dtype::F32, vec![drawn]),
        (dtype::I64, vec![drawn]),
        (dtype::I64, vec![drawn]),
    ]
}

impl Control {
    /// Views of `block`, which holds a batch of these sizes.
    pub fn over(block: &Arc<Allocation>, sizes: &Sizes) -> Result<Control, EngineError> {
        let mut at = 0;
        let mut tensors = Vec::with_capacity(13);
        for (dtype, shape) in shapes(sizes) {
            let view = View::contiguous(dtype, &shape)?;
            let span = view.span_bytes();
            tensors.push(Tensor::over(block.clone(), view, at)?);
            at += padded(span);
        }
        let whole = Tensor::over(block.clone(), View::contiguous(dtype::U8, &[at as i64])?, 0)?;
        let mut tensors = tensors.into_iter();
        let mut next = || tensors.next().expect("thirteen arrays");
        Ok(Control {
            ids: next(),
            positions: next(),
            slots: next(),
            query_start: next(),
            seq_lens: next(),
            block_table: next(),
            last: next(),
            temperature: next(),
            top_k: next(),
            top_p: next(),
            min_p: next(),
            seed: next(),
            draw: next(),
            whole,
        })
    }
}

impl Batch {
    /// Its sizes.
    pub fn sizes(&self, pages: i64) -> Sizes {
        Sizes {
            tokens: self.ids.len() as i64,
            requests: self.seq_lens.len() as i64,
            drawn: self.last.len() as i64,
            pages,
        }
    }

    /// The block, into `bytes`.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.clear();
        let mut put = |values: &mut dyn Iterator<Item = u8>| {
            bytes.extend(values);
            bytes.resize(padded(bytes.len() as u64) as usize, 0);
        };
        fn i32s(values: &[i32]) -> impl Iterator<Item = u8> {
            values.iter().copied().flat_map(i32::to_le_bytes)
        }
        fn i64s(values: &[i64]) -> impl Iterator<Item = u8> {
            values.iter().copied().flat_map(i64::to_le_bytes)
        }
        fn f32s(values: &[f32]) -> impl Iterator<Item = u8> {
            values.iter().copied().flat_map(f32::to_le_bytes)
        }
        put(&mut i32s(&self.ids));
        put(&mut i32s(&self.positions));
        put(&mut i64s(&self.slots));
        put(&mut i32s(&self.query_start));
        put(&mut i32s(&self.seq_lens));
        put(&mut i32s(&self.block_table));
        put(&mut i32s(&self.last));
        put(&mut f32s(&self.temperature));
        put(&mut i32s(&self.top_k));
        put(&mut f32s(&self.top_p));
        put(&mut f32s(&self.min_p));
        put(&mut i64s(&self.seed));
        put(&mut i64s(&self.draw));
    }

    /// Greatest number of tokens of a request in this pass.
    pub fn max_query_len(&self) -> i64 {
        let lens = self.query_start.windows(2).map(|pair| pair[1] - pair[0]);
        i64::from(lens.max().unwrap_or(0))
    }

    /// Greatest number of keys of a request.
    pub fn max_seq_len(&self) -> i64 {
        i64::from(self.seq_lens.iter().copied().max().unwrap_or(0))
    }

    /// Whether any row is drawn rather than taken greedily.
    pub fn draws(&self) -> bool {
        self.temperature.iter().any(|t| *t > 0.0)
    }
}

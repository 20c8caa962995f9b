//! From the file to devices: each tensor is written, repacked for the kernel that serves one row, and let go.
//!
//! At no time is there more than one tensor in both forms, and pages of the file are given back once their tensor was taken.

use super::names;
use super::weights::{Attention, Layer, Linear, Weights, product};
use super::{Architecture, Config};
use crate::error::EngineError;
use crate::forward::Ops;
use crate::gguf::{Gguf, GgufFile, Tensor as FileTensor};
use overt::{Allocation, DType, Device, MemoryKind, Stream, Tensor, View, dtype};
use std::ops::Range;

/// How far loading is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the file's tensors that were taken.
    pub done: u64,
    /// Bytes that will be.
    pub total: u64,
    /// The tensor that was taken last.
    pub tensor: String,
}

/// What of a model goes where, and how.
pub(crate) struct Loading<'a> {
    pub file: &'a GgufFile,
    pub config: &'a Config,
    pub ops: &'a Ops,
    pub stream: &'a Stream,
    /// Type of activations.
    pub activations: DType,
    /// Whether they are rounded to 8 bits before products with block formats.
    pub rounded: bool,
    /// Layers of this device.
    pub layers: Range<usize>,
    /// Whether the device holds the table and the head.
    pub ends: [bool; 2],
}

/// Loads one device's part. `taken` is told of each tensor and its bytes; its error ends the loading.
pub(crate) fn load(
    loading: &Loading<'_>,
    taken: &mut dyn FnMut(&str, u64) -> Result<(), EngineError>,
) -> Result<Weights, EngineError> {
    let contents = loading.file.contents();
    let mut loader = Loader {
        to: loading,
        file: &contents,
        taken,
    };
    let config = loading.config;
    let head = if loading.ends[1] {
        Some((
            loader.vector(names::OUTPUT_NORM, config.width)?,
            loader.head()?,
        ))
    } else {
        None
    };
    let (embedding, embedding_bytes) = if loading.ends[0] {
        let (table, bytes) = loader.embedding(head.as_ref().map(|(_, head)| &head.weight))?;
        (Some(table), bytes)
    } else {
        (None, 0)
    };
    let layers = loading
        .layers
        .clone()
        .map(|number| loader.layer(number))
        .collect::<Result<_, _>>()?;
    let windowed = config
        .window
        .as_ref()
        .map_or(&config.positions, |w| &w.positions);
    let frequencies = [
        loader.frequencies(&config.positions.inv_freq)?,
        loader.frequencies(&windowed.inv_freq)?,
    ];
    loading.stream.sync()?;
    Ok(Weights {
        embedding,
        embedding_bytes,
        layers,
        head,
        frequencies,
    })
}

/// Bytes that loading takes from the file, over all devices.
pub(crate) fn total(file: &Gguf<'_>) -> u64 {
    file.tensors().map(|t| t.bytes().len() as u64).sum()
}

struct Loader<'a> {
    to: &'a Loading<'a>,
    file: &'a Gguf<'a>,
    taken: &'a mut dyn FnMut(&str, u64) -> Result<(), EngineError>,
}

impl<'a> Loader<'a> {
    fn device(&self) -> &'a Device {
        self.to.stream.device()
    }

    fn layer(&mut self, number: usize) -> Result<Layer, EngineError> {
        let config = self.to.config;
        let name = |part: &str| names::of(number, part, "weight");
        let behind = config.architecture == Architecture::Gemma3;
        let (wide, up) = (config.width, config.feed_forward);
        let values = config.heads * config.value_head;
        Ok(Layer {
            number,
            attention_norm: self.vector(&name("attn_norm"), wide)?,
            attention: self.attention(number)?,
            output: self.linear(number, &["attn_output"], &[wide], values)?,
            output_norm: match behind {
                true => Some(self.vector(&name("post_attention_norm"), wide)?),
                false => None,
            },
            feed_norm: self.vector(&name("ffn_norm"), wide)?,
            gate_up: self.side_by_side(number, &["ffn_gate", "ffn_up"], &[up, up], wide)?,
            down: self.linear(number, &["ffn_down"], &[wide], up)?,
            down_norm: match behind {
                true => Some(self.vector(&name("post_ffw_norm"), wide)?),
                false => None,
            },
        })
    }

    fn attention(&mut self, number: usize) -> Result<Attention, EngineError> {
        let config = self.to.config;
        let parts = ["attn_q", "attn_k", "attn_v"];
        let rows = [
            config.heads * config.key_head,
            config.kv_heads * config.key_head,
            config.kv_heads * config.value_head,
        ];
        if config.joins_heads() && self.alike(number, &parts)? {
            return Ok(Attention::Fused(self.linear(
                number,
                &parts,
                &rows,
                config.width,
            )?));
        }
        let mut each = Vec::with_capacity(3);
        for (part, rows) in parts.iter().zip(rows) {
            each.push(self.linear(number, &[part], &[rows], config.width)?);
        }
        let parts: Box<[Linear; 3]> = each
            .try_into()
            .unwrap_or_else(|_| unreachable!("three parts"));
        if !config.norms_heads() {
            return Ok(Attention::Parts(parts));
        }
        let norm = |part: &str| names::of(number, part, "weight");
        Ok(Attention::Normed {
            parts,
            norms: [
                self.vector(&norm("attn_q_norm"), config.key_head)?,
                self.vector(&norm("attn_k_norm"), config.key_head)?,
            ],
        })
    }

    /// Whether all parts are of one type and have, or lack, biases alike.
    fn alike(&self, number: usize, parts: &[&str]) -> Result<bool, EngineError> {
        let mut kinds = Vec::with_capacity(parts.len());
        for part in parts {
            let bias = names::of(number, part, "bias");
            let bias = match self.file.info(&bias) {
                Some(_) => Some(self.file.tensor(&bias)?.dtype()),
                None => None,
            };
            let weight = self.file.tensor(&names::of(number, part, "weight"))?;
            kinds.push((weight.dtype(), bias));
        }
        Ok(kinds.windows(2).all(|pair| pair[0] == pair[1]))
    }

    /// Parts whose results lie side by side: one product where that can be.
    fn side_by_side(
        &mut self,
        number: usize,
        parts: &[&str],
        rows: &[i64],
        depth: i64,
    ) -> Result<Vec<Linear>, EngineError> {
        if self.alike(number, parts)? {
            return Ok(vec![self.linear(number, parts, rows, depth)?]);
        }
        parts
            .iter()
            .zip(rows)
            .map(|(part, rows)| self.linear(number, &[part], &[*rows], depth))
            .collect()
    }

    /// Parts of a layer, one below the other, as one weight.
    fn linear(
        &mut self,
        number: usize,
        parts: &[&str],
        rows: &[i64],
        depth: i64,
    ) -> Result<Linear, EngineError> {
        let mut weights = Vec::with_capacity(parts.len());
        let mut biases = Vec::new();
        for (part, rows) in parts.iter().zip(rows) {
            weights.push(self.tensor(&names::of(number, part, "weight"), &[*rows, depth])?);
            let bias = names::of(number, part, "bias");
            if self.file.info(&bias).is_some() {
                biases.push(self.tensor(&bias, &[*rows])?);
            }
        }
        self.put_together(&weights, &biases)
    }

    fn put_together(
        &mut self,
        weights: &[FileTensor<'_>],
        biases: &[FileTensor<'_>],
    ) -> Result<Linear, EngineError> {
        let plain = self.stack(weights)?;
        let bias = match biases {
            [] => None,
            biases => Some(self.stack(biases)?),
        };
        let rounded = self.to.rounded && dtype::is_block_format(plain.dtype());
        let (rows, depth) = (plain.shape()[0], plain.shape()[1]);
        let a = Tensor::empty(self.device(), self.to.activations, &[1, depth])?;
        let out = Tensor::empty(self.device(), self.to.activations, &[1, rows])?;
        let call = product(
            &self.to.ops.matmul,
            &a,
            &plain,
            bias.as_ref(),
            &out,
            rounded,
        )?;
        let weight = self.to.stream.pack_weight(&call, "b")?;
        // The plain form is freed when the stream has passed it, and the next weight shall find that memory free.
        self.to.stream.sync()?;
        for tensor in weights {
            self.release(tensor)?;
        }
        Ok(Linear {
            weight,
            bias,
            rounded,
        })
    }

    /// Writes tensors of one type and depth, one below the other.
    fn stack(&mut self, parts: &[FileTensor<'_>]) -> Result<Tensor, EngineError> {
        assert!(
            parts.iter().all(|part| part.dtype() == parts[0].dtype()),
            "parts of one weight are of one type"
        );
        let mut shape = parts[0].shape().to_vec();
        shape[0] = parts.iter().map(|part| part.shape()[0]).sum();
        let target = Tensor::empty(self.device(), parts[0].dtype(), &shape)?;
        let mut start = 0;
        for part in parts {
            let rows = part.shape()[0];
            self.to
                .stream
                .write(&target.slice(0, start, rows)?, part.bytes())?;
            start += rows;
            (self.taken)(part.name(), part.bytes().len() as u64)?;
        }
        Ok(target)
    }

    /// Factors of a norm. Their type is looked at here: no call is made with them before the first pass.
    fn vector(&mut self, name: &str, width: i64) -> Result<Tensor, EngineError> {
        let tensor = self.tensor(name, &[width])?;
        if ![dtype::F32, dtype::F16, dtype::BF16].contains(&tensor.dtype()) {
            return Err(EngineError::Unsupported {
                what: format!("the type of `{name}`"),
                got: dtype::Shown(tensor.dtype()).to_string(),
                wanted: "f32, f16 or bf16".into(),
            });
        }
        self.stack(&[tensor])
    }

    fn head(&mut self) -> Result<Linear, EngineError> {
        let name = match self.file.info(names::HEAD) {
            Some(_) => names::HEAD,
            None => names::EMBEDDING,
        };
        let rows = self.vocabulary()?;
        let weight = self.tensor(name, &[rows, self.to.config.width])?;
        self.put_together(&[weight], &[])
    }

    /// The table. Where the head is the same tensor and was not repacked they share memory. Where it was, and the device works on host
    /// memory, rows are read out of the file itself, so that the table is not kept twice: few of them are ever touched. With it the bytes that it has
    /// for itself.
    fn embedding(&mut self, head: Option<&Tensor>) -> Result<(Tensor, u64), EngineError> {
        let rows = self.vocabulary()?;
        let table = self.tensor(names::EMBEDDING, &[rows, self.to.config.width])?;
        if self.file.info(names::HEAD).is_none()
            && let Some(head) = head
        {
            let view = View::contiguous(table.dtype(), table.shape())?;
            if head.allocation().bytes() >= table.bytes().len() as u64
                && head.view() == &view.clone().at(0, head.allocation().alignment())
            {
                return Ok((head.clone(), 0));
            }
            let probe = Allocation::new(self.device(), 1, 0, MemoryKind::Device)?;
            if probe.host_address().is_some() {
                let bytes = table.bytes();
                // SAFETY: the mapping is read-only, and lives in the engine until its streams are done and its tensors gone.
                let imported = unsafe {
                    Allocation::import_host(self.device(), bytes.as_ptr(), bytes.len() as u64)
                };
                if let Ok(memory) = imported {
                    return Ok((Tensor::over(memory, view.read_only(), 0)?, 0));
                }
            }
        }
        let tensor = self.stack(&[table])?;
        self.to.stream.sync()?;
        self.release(&table)?;
        let bytes = tensor.allocation().bytes();
        Ok((tensor, bytes))
    }

    fn frequencies(&mut self, values: &[f32]) -> Result<Tensor, EngineError> {
        let tensor = Tensor::empty(self.device(), dtype::F32, &[values.len() as i64])?;
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.to.stream.write(&tensor, &bytes)?;
        Ok(tensor)
    }

    fn vocabulary(&self) -> Result<i64, EngineError> {
        vocabulary(self.file)
    }

    /// A tensor of this very shape.
    fn tensor(&self, name: &str, shape: &[i64]) -> Result<FileTensor<'a>, EngineError> {
        let tensor = self.file.tensor(name)?;
        if tensor.shape() == shape {
            return Ok(tensor);
        }
        Err(EngineError::Shape {
            tensor: name.into(),
            got: tensor.shape().to_vec(),
            wanted: shape.to_vec(),
        })
    }

    fn release(&self, tensor: &FileTensor<'_>) -> Result<(), EngineError> {
        Ok(self.to.file.release(tensor.range())?)
    }
}

/// Number of tokens, by the table.
pub(crate) fn vocabulary(file: &Gguf<'_>) -> Result<i64, EngineError> {
    let table = file.tensor(names::EMBEDDING)?;
    match table.shape() {
        [rows, _] => Ok(*rows),
        other => Err(EngineError::Shape {
            tensor: names::EMBEDDING.into(),
            got: other.to_vec(),
            wanted: vec![-1, -1],
        }),
    }
}

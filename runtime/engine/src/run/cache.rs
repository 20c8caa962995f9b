//! The paged cache: which pages are free, and the memory of one device's layers.
//!
//! One page number means the same page in every layer, on every device.

use crate::error::EngineError;
use crate::model::Config;
use overt::{DType, Device, Tensor};

/// Keys and values of one device's layers: `[pages, page, heads, D]` each.
pub(crate) struct Cache {
    first: usize,
    layers: Vec<[Tensor; 2]>,
}

impl Cache {
    /// Memory for `layers` layers from `first` on.
    pub fn new(
        device: &Device,
        config: &Config,
        [k, v]: [DType; 2],
        (pages, page): (usize, usize),
        first: usize,
        layers: usize,
    ) -> Result<Cache, EngineError> {
        let shape = |head| [pages as i64, page as i64, config.kv_heads, head];
        let layers = (0..layers)
            .map(|_| {
                Ok([
                    Tensor::empty(device, k, &shape(config.key_head))?,
                    Tensor::empty(device, v, &shape(config.value_head))?,
                ])
            })
            .collect::<Result<_, EngineError>>()?;
        Ok(Cache { first, layers })
    }

    /// Keys and values of a layer, by its number in the model.
    pub fn of(&self, layer: usize) -> &[Tensor; 2] {
        &self.layers[layer - self.first]
    }

    /// Bytes of all.
    pub fn bytes(&self) -> u64 {
        self.layers
            .iter()
            .flatten()
            .map(|t| t.allocation().bytes())
            .sum()
    }
}

/// Pages that no sequence has.
pub(super) struct Pages {
    free: Vec<i32>,
    page: usize,
}

impl Pages {
    pub fn new(pages: usize, page: usize) -> Pages {
        Pages {
            free: (0..pages as i32).rev().collect(),
            page,
        }
    }

    /// Pages for `tokens` tokens, or nothing when there are too few.
    pub fn take(&mut self, tokens: usize) -> Option<Vec<i32>> {
        let from = self.free.len().checked_sub(tokens.div_ceil(self.page))?;
        Some(self.free.split_off(from))
    }

    pub fn give_back(&mut self, pages: &mut Vec<i32>) {
        self.free.append(pages);
    }

    #[cfg(test)]
    pub fn free(&self) -> usize {
        self.free.len()
    }
}

//! A stream's own memory of selections: no lock, no shared state, no allocation on a hit.

use super::shapes::Shapes;
use crate::select::{MAX_FACTS, Ready, Table};
use std::sync::Arc;

/// Selections remembered for one op before the memory starts anew.
const MOST: usize = 4096;

/// Remembered selections of one op on the stream's device.
pub(super) struct OpCache {
    pub(super) table: Arc<Table>,
    /// Calls whose views were bound lately.
    pub(super) shapes: Shapes,
    words: usize,
    /// Open addressing, a power of two of places; `words` key words for each.
    keys: Vec<u64>,
    values: Vec<Option<Arc<Ready>>>,
    used: usize,
}

impl OpCache {
    pub(super) fn new(table: Arc<Table>) -> OpCache {
        let words = table.key_len().unwrap_or(0).min(MAX_FACTS);
        let mut cache = OpCache {
            table,
            shapes: Shapes::default(),
            words,
            keys: Vec::new(),
            values: Vec::new(),
            used: 0,
        };
        cache.resize(16);
        cache
    }

    fn resize(&mut self, places: usize) {
        self.keys = vec![0; places * self.words];
        self.values = vec![None; places];
        self.used = 0;
    }

    #[inline]
    fn hash(key: &[u64]) -> usize {
        let mut hash = 0x9e37_79b9_7f4a_7c15_u64;
        for word in key {
            hash = (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
            hash ^= hash >> 32;
        }
        hash as usize
    }

    /// The selection for a key.
    #[inline]
    pub(super) fn find(&self, key: &[u64]) -> Option<&Arc<Ready>> {
        let mask = self.values.len() - 1;
        let mut place = Self::hash(key) & mask;
        loop {
            let value = self.values[place].as_ref()?;
            if self.keys[place * self.words..][..self.words] == *key {
                return Some(value);
            }
            place = (place + 1) & mask;
        }
    }

    /// Remembers a selection.
    pub(super) fn insert(&mut self, key: &[u64], ready: Arc<Ready>) {
        if self.used * 2 >= self.values.len() {
            if self.used >= MOST {
                self.resize(16);
            } else {
                let (keys, values) = (
                    std::mem::take(&mut self.keys),
                    std::mem::take(&mut self.values),
                );
                self.resize(values.len() * 2);
                for (index, value) in values.into_iter().enumerate() {
                    if let Some(value) = value {
                        self.place(&keys[index * self.words..][..self.words], value);
                    }
                }
            }
        }
        self.place(key, ready);
    }

    fn place(&mut self, key: &[u64], ready: Arc<Ready>) {
        let mask = self.values.len() - 1;
        let mut place = Self::hash(key) & mask;
        while self.values[place].is_some() {
            if self.keys[place * self.words..][..self.words] == *key {
                break;
            }
            place = (place + 1) & mask;
        }
        self.used += usize::from(self.values[place].is_none());
        self.keys[place * self.words..][..self.words].copy_from_slice(key);
        self.values[place] = Some(ready);
    }
}

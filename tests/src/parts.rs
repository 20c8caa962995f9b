//! Model files in parts, for files that differ from a good one in one place.

use overt_engine::gguf::{GgmlType, Gguf, GgufWriter, WriteValue};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A tensor as a file holds it.
pub type Stored = (GgmlType, Vec<u64>, Vec<u8>);

/// A model in parts.
#[derive(Clone)]
pub struct Parts {
    /// Metadata.
    pub keys: BTreeMap<String, WriteValue>,
    /// Kinds, shapes with rows first, and bytes.
    pub tensors: BTreeMap<String, Stored>,
}

impl Parts {
    /// A model of `files/models`.
    pub fn of(name: &str) -> Parts {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("files/models");
        let bytes = std::fs::read(folder.join(format!("{name}.gguf"))).unwrap();
        let file = Gguf::parse(&bytes).unwrap();
        let tensors = file.tensors().map(|tensor| {
            let shape = tensor.shape().iter().map(|n| *n as u64).collect();
            let parts = (tensor.kind(), shape, tensor.bytes().to_vec());
            (tensor.name().to_owned(), parts)
        });
        let keys = file.metadata();
        Parts {
            keys: keys
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
            tensors: tensors.collect(),
        }
    }

    /// With another value of a key.
    pub fn with(&self, key: &str, value: impl Into<WriteValue>) -> Parts {
        let mut changed = self.clone();
        changed.keys.insert(key.into(), value.into());
        changed
    }

    /// Without a key that is there.
    pub fn without(&self, key: &str) -> Parts {
        let mut changed = self.clone();
        assert!(changed.keys.remove(key).is_some(), "{key}");
        changed
    }

    /// With a tensor of zeros.
    pub fn tensor(&self, name: &str, kind: GgmlType, shape: &[u64]) -> Parts {
        let mut changed = self.clone();
        let bytes = kind.bytes_for(shape.iter().product()).unwrap();
        let parts = (kind, shape.to_vec(), vec![0; bytes as usize]);
        changed.tensors.insert(name.into(), parts);
        changed
    }

    /// Without a tensor that is there.
    pub fn lacking(&self, name: &str) -> Parts {
        let mut changed = self.clone();
        assert!(changed.tensors.remove(name).is_some(), "{name}");
        changed
    }

    /// Writes the file into a folder.
    pub fn write(&self, folder: &Path) -> PathBuf {
        let mut file = GgufWriter::new();
        for (key, value) in &self.keys {
            file.set(key, value.clone()).unwrap();
        }
        for (name, (kind, shape, bytes)) in &self.tensors {
            file.tensor(name, *kind, shape, bytes).unwrap();
        }
        let path = folder.join("model.gguf");
        file.save(&path).unwrap();
        path
    }
}

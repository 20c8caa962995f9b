//! How an engine is set up.

use crate::error::EngineError;
use overt::{DType, dtype};
use std::fmt::Display;

/// Layers of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The device's name, as `overt devices` shows it.
    pub device: String,
    /// How many layers it gets, in the order of the placements; `None`: an even part of what the others leave.
    pub layers: Option<usize>,
}

/// How an engine is set up. Start from the default and change what differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Where layers lie. Empty: all on the runtime's first device.
    pub placements: Vec<Placement>,
    /// Tokens that a sequence can have; 0: what the model was trained to see, at most 4096.
    pub context: usize,
    /// Sequences that run at once. Others wait.
    pub sequences: usize,
    /// Tokens of one pass at most; longer prompts take several.
    pub chunk: usize,
    /// Tokens of a page of the cache.
    pub page: usize,
    /// Types of cached keys and values.
    pub kv: [DType; 2],
    /// Type of activations between ops.
    pub activations: DType,
    /// Whether activations are rounded to 8 bits before products with weights in block formats, as the op's `int8_activations` says:
    /// faster for many rows, and what llama.cpp does on CPUs, but most of the error that a result then has.
    pub int8_activations: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            placements: Vec::new(),
            context: 0,
            sequences: 8,
            chunk: 512,
            page: 16,
            kv: [dtype::F16; 2],
            activations: dtype::F32,
            int8_activations: false,
        }
    }
}

impl Options {
    /// Refuses what no engine can be made with.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        let most = 1 << 24;
        for (option, got) in [
            ("sequences", self.sequences),
            ("chunk", self.chunk),
            ("page", self.page),
        ] {
            within(option, got, 1, most)?;
        }
        within("context", self.context, 0, most)?;
        let float = [dtype::F32, dtype::F16, dtype::BF16];
        if !float.contains(&self.activations) {
            return Err(option(
                "activations",
                dtype::Shown(self.activations),
                "f32, f16 or bf16",
            ));
        }
        Ok(())
    }

    /// The layers of each device, first to last.
    pub(crate) fn split(
        &self,
        first: &str,
        layers: usize,
    ) -> Result<Vec<(String, usize)>, EngineError> {
        if self.placements.is_empty() {
            return Ok(vec![(first.to_owned(), layers)]);
        }
        let fixed = self.placements.iter().filter_map(|p| p.layers);
        let fixed = fixed.fold(0, usize::saturating_add);
        let open = self
            .placements
            .iter()
            .filter(|p| p.layers.is_none())
            .count();
        let left = layers
            .checked_sub(fixed)
            .filter(|left| open > 0 || *left == 0);
        let Some(left) = left else {
            return Err(option(
                "placements",
                format!("{fixed} layers"),
                format!("{layers}, those of the model"),
            ));
        };
        let mut seen = 0;
        let split = self.placements.iter().map(|placement| {
            let count = placement.layers.unwrap_or_else(|| {
                seen += 1;
                // The first ones get what does not divide.
                left / open + usize::from(seen <= left % open)
            });
            (placement.device.clone(), count)
        });
        let split: Vec<_> = split.collect();
        for (device, count) in &split {
            within("placements", *count, 1, layers).map_err(|_| {
                option(
                    "placements",
                    format!("{count} layers on {device}"),
                    "at least one on each",
                )
            })?;
        }
        Ok(split)
    }
}

fn within(name: &'static str, got: usize, least: usize, most: usize) -> Result<(), EngineError> {
    if (least..=most).contains(&got) {
        return Ok(());
    }
    Err(option(name, got, format!("{least} to {most}")))
}

fn option(option: &'static str, got: impl Display, wanted: impl Display) -> EngineError {
    EngineError::Option {
        option,
        got: got.to_string(),
        wanted: wanted.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(device: &str, layers: Option<usize>) -> Placement {
        Placement {
            device: device.into(),
            layers,
        }
    }

    fn split(placements: &[Placement], layers: usize) -> Result<Vec<usize>, String> {
        let options = Options {
            placements: placements.to_vec(),
            ..Options::default()
        };
        match options.split("first", layers) {
            Ok(split) => Ok(split.into_iter().map(|(_, count)| count).collect()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn layers_are_split_whole_and_every_device_has_one() {
        assert_eq!(split(&[], 5), Ok(vec![5]));
        let (a, b) = (place("a", None), place("b", None));
        assert_eq!(split(&[a.clone(), b.clone()], 5), Ok(vec![3, 2]));
        assert_eq!(split(&[place("a", Some(1)), b.clone()], 5), Ok(vec![1, 4]));
        assert_eq!(
            split(&[place("a", Some(2)), place("b", Some(3))], 5),
            Ok(vec![2, 3])
        );
        for bad in [
            vec![place("a", Some(usize::MAX)), place("b", Some(6))],
            vec![place("a", Some(6)), b.clone()],
            vec![place("a", Some(5)), b.clone()],
            vec![place("a", Some(2))],
            vec![place("a", Some(0)), b.clone()],
        ] {
            let words = split(&bad, 5).unwrap_err();
            assert!(words.contains("`placements`"), "{words}");
        }
    }

    #[test]
    fn impossible_options_are_refused_by_name() {
        for (name, options) in [
            (
                "chunk",
                Options {
                    chunk: 0,
                    ..Options::default()
                },
            ),
            (
                "page",
                Options {
                    page: 0,
                    ..Options::default()
                },
            ),
            (
                "sequences",
                Options {
                    sequences: 0,
                    ..Options::default()
                },
            ),
            (
                "context",
                Options {
                    context: usize::MAX,
                    ..Options::default()
                },
            ),
            (
                "activations",
                Options {
                    activations: dtype::I32,
                    ..Options::default()
                },
            ),
        ] {
            let words = options.check().unwrap_err().to_string();
            assert!(words.contains(&format!("`{name}`")), "{words}");
        }
        assert!(Options::default().check().is_ok());
    }
}

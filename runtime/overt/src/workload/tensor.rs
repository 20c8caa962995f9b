//! The text of a tensor: `bf16[2,64]`, `bf16[2,64]:[128,1]`, `f16[8]@2`.

use crate::memory::{View, ViewError};
use overt_abi::OvertDType;
use overt_kernels::dtype;
use std::str::FromStr;

/// Element type, extents, and optionally strides (in elements) and the alignment (in bytes) of the first element.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorSpec {
    /// Element type.
    pub dtype: OvertDType,
    /// Extents.
    pub shape: Vec<i64>,
    /// Strides; `None`: contiguous.
    pub strides: Option<Vec<i64>>,
    /// Alignment of the first element; `None`: what allocators give.
    pub align: Option<u64>,
}

/// A text that describes no tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no tensor: {what}; wanted `dtype[extents]`, `dtype[extents]:[strides]` or either with `@alignment`"
)]
pub struct TensorTextError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub what: String,
}

impl FromStr for TensorSpec {
    type Err = TensorTextError;

    fn from_str(text: &str) -> Result<TensorSpec, TensorTextError> {
        let wrong = |what: String| TensorTextError {
            text: text.to_owned(),
            what,
        };
        let (rest, align) = match text.trim().rsplit_once('@') {
            None => (text.trim(), None),
            Some((rest, align)) => {
                let value: u64 = align
                    .trim()
                    .parse()
                    .map_err(|_| wrong(format!("alignment `{align}` is no number")))?;
                if !value.is_power_of_two() {
                    return Err(wrong(format!("alignment {value} is no power of two")));
                }
                (rest.trim(), Some(value))
            }
        };
        let (head, strides) = match rest.split_once(':') {
            None => (rest, None),
            Some((head, strides)) => (
                head.trim(),
                Some(numbers(strides.trim(), "strides").map_err(wrong)?),
            ),
        };
        let open = head
            .find('[')
            .ok_or_else(|| wrong("it has no `[`".to_owned()))?;
        let name = head[..open].trim();
        let dtype = dtype::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = dtype::all().map(|(_, n)| n).collect();
            wrong(format!(
                "no element type `{name}` (known: {})",
                names.join(", ")
            ))
        })?;
        let shape = numbers(&head[open..], "extents").map_err(wrong)?;
        if let Some(strides) = &strides
            && strides.len() != shape.len()
        {
            return Err(wrong(format!(
                "{} strides for {} extents",
                strides.len(),
                shape.len()
            )));
        }
        Ok(TensorSpec {
            dtype,
            shape,
            strides,
            align,
        })
    }
}

/// `[1,2,3]`; `[]` is none.
fn numbers(text: &str, of: &str) -> Result<Vec<i64>, String> {
    let inner = text
        .strip_prefix('[')
        .and_then(|t| t.strip_suffix(']'))
        .ok_or_else(|| format!("the {of} `{text}` do not stand in one pair of brackets"))?;
    if inner.trim().is_empty() {
        return Ok(Vec::new());
    }
    inner
        .split(',')
        .map(|n| {
            let n = n.trim();
            match n.parse::<i64>() {
                Ok(value) if value >= 0 => Ok(value),
                Ok(value) => Err(format!("{of} are at least 0, not {value}")),
                Err(_) => Err(format!("`{n}` among the {of} is no 64-bit integer")),
            }
        })
        .collect()
}

impl TensorSpec {
    /// The view that it describes, at the start of an allocation.
    pub fn view(&self) -> Result<View, ViewError> {
        let view = match &self.strides {
            None => View::contiguous(self.dtype, &self.shape)?,
            Some(strides) => View::strided(self.dtype, &self.shape, strides)?,
        };
        Ok(match self.align {
            None => view,
            Some(align) => view.at(0, align),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use overt_kernels::dtype::{BF16, F16};

    fn spec(text: &str) -> TensorSpec {
        text.parse().unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn extents_strides_and_alignment_are_read() {
        let got = spec("bf16[2, 64]:[128,1]@2");
        assert_eq!((got.dtype, got.shape), (BF16, vec![2, 64]));
        assert_eq!((got.strides, got.align), (Some(vec![128, 1]), Some(2)));
        let view = spec("bf16[2,64]:[128,1]@2").view().unwrap();
        assert_eq!((view.alignment(), view.is_row_major()), (2, false));
        assert_eq!(spec("f16[]").shape, Vec::<i64>::new());
        assert_eq!(spec("f16[0,7]").dtype, F16);
    }

    #[test]
    fn what_is_wrong_with_a_text_is_named() {
        for (text, words) in [
            ("bf16", "no `[`"),
            ("bf17[2]", "no element type `bf17`"),
            ("bf16[2,x]", "`x` among the extents"),
            ("bf16[2,-1]", "not -1"),
            ("bf16[2", "one pair of brackets"),
            ("bf16[2,3]:[1]", "1 strides for 2 extents"),
            ("bf16[2]@3", "no power of two"),
            ("bf16[2]@x", "`x` is no number"),
            ("bf16[99999999999999999999]", "no 64-bit integer"),
        ] {
            let error = text.parse::<TensorSpec>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}

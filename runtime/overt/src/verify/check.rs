//! Comparing what a run left in memory with what the oracle wants.

use super::walk::{for_each_offset, for_each_unit};
use super::wanted::{Wanted, WantedOutput};
use overt_kernels::host::{HostError, HostTensor, Reader};
use overt_kernels::op::{Tolerance, Want};
use std::fmt;

/// What became of one checked call.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Check {
    /// Every output.
    pub outputs: Vec<OutputCheck>,
    /// Bytes that changed and must not have.
    pub damage: Vec<Damage>,
}

/// One output against its oracle.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct OutputCheck {
    /// The operand's name.
    pub operand: String,
    /// How many elements it has.
    pub elements: u64,
    /// How many of them were compared.
    pub compared: u64,
    /// How many of those are outside the tolerance.
    pub wrong: u64,
    /// The element nearest to its limit, or farthest beyond it; `None` where nothing was compared.
    pub worst: Option<Worst>,
}

/// One element, and how far it is off.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Worst {
    /// Where.
    pub index: Vec<i64>,
    /// What is there.
    pub got: f64,
    /// What the oracle says.
    pub want: f64,
    /// The greatest difference that the tolerance allows here.
    pub limit: f64,
    /// The difference as a share of the limit: above 1 is wrong. Infinite where one of the two is not finite and they differ,
    /// which JSON shows as `null`.
    pub ratio: f64,
}

/// A byte outside what the op may write.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Damage {
    /// An operand that is only read was changed.
    #[error("input `{operand}` was changed, first at byte {byte}")]
    Input {
        /// The operand.
        operand: String,
        /// First changed byte of its span.
        byte: u64,
    },
    /// A gap of a strided output was changed.
    #[error("the gap between rows of `{operand}` was written, first at byte {byte}")]
    Gap {
        /// The operand.
        operand: String,
        /// First changed byte of its span.
        byte: u64,
    },
    /// Memory in front of or behind a written operand was changed.
    #[error("memory {} `{operand}` was written", if *before { "in front of" } else { "behind" })]
    Border {
        /// The operand.
        operand: String,
        /// In front of it, not behind.
        before: bool,
    },
}

impl Check {
    /// Nothing is wrong: every compared element is within tolerance and nothing else was written.
    pub fn passed(&self) -> bool {
        self.damage.is_empty() && self.outputs.iter().all(|o| o.wrong == 0)
    }

    /// Elements that were compared.
    pub fn compared(&self) -> u64 {
        self.outputs.iter().map(|o| o.compared).sum()
    }

    /// Elements of all outputs.
    pub fn elements(&self) -> u64 {
        self.outputs.iter().map(|o| o.elements).sum()
    }

    /// The worst element of all outputs, with its operand.
    pub fn worst(&self) -> Option<(&str, &Worst)> {
        self.outputs
            .iter()
            .filter_map(|o| o.worst.as_ref().map(|w| (o.operand.as_str(), w)))
            .max_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio))
    }
}

/// What is wrong, in one line; `passed` where nothing is.
impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        for output in self.outputs.iter().filter(|o| o.wrong > 0) {
            let mut part = format!(
                "`{}`: {} of {} compared elements outside the tolerance",
                output.operand, output.wrong, output.compared
            );
            if let Some(worst) = &output.worst {
                part.push_str(&format!(", worst {worst}"));
            }
            parts.push(part);
        }
        parts.extend(self.damage.iter().map(ToString::to_string));
        if parts.is_empty() {
            f.write_str("passed")
        } else {
            f.write_str(&parts.join("; "))
        }
    }
}

impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at {:?}: got {:e}, want {:e}, allowed {:e} ({:.3} of it)",
            self.index, self.got, self.want, self.limit, self.ratio
        )
    }
}

/// Compares one output. `layout` says how it lies, `bytes` what is in its span now.
pub(super) fn output(
    name: &str,
    layout: &HostTensor,
    bytes: &[u8],
    wanted: &WantedOutput,
) -> Result<OutputCheck, HostError> {
    let reader = Reader::of(layout.dtype, bytes)?;
    let got: Vec<f64> = match &wanted.want {
        Want::All => {
            let mut got = Vec::with_capacity(layout.len() as usize);
            for_each_offset(&layout.shape, &layout.strides, |offset| {
                got.push(reader.at(offset as i64));
            });
            got
        }
        Want::Elements(list) => list
            .iter()
            .map(|flat| {
                let offset = layout.offset(&layout.index_of(*flat)?)?;
                Ok(reader.at(offset))
            })
            .collect::<Result<_, HostError>>()?,
    };
    let flat = |position: usize| match &wanted.want {
        Want::All => position as u64,
        Want::Elements(list) => list[position],
    };
    let width = layout.shape.last().map_or(1, |&n| n.max(1) as u64);
    let mut check = OutputCheck {
        operand: name.to_owned(),
        elements: layout.len(),
        compared: got.len() as u64,
        wrong: 0,
        worst: None,
    };
    let mut worst: Option<(usize, f64, f64)> = None;
    let mut start = 0;
    while start < got.len() {
        let row = flat(start) / width;
        let mut end = start + 1;
        while end < got.len() && flat(end) / width == row {
            end += 1;
        }
        // Of a sampled row this is the scale of the sample, which for hundreds of elements is that of the row.
        let scale = Tolerance::scale_of(&wanted.values[start..end]);
        for (position, &got) in got.iter().enumerate().take(end).skip(start) {
            let want = wanted.values[position];
            let limit = wanted.tolerance.limit(want, scale);
            let allowed = wanted.tolerance.allows(got, want, scale);
            let ratio = if !got.is_finite() || !want.is_finite() {
                if allowed { 0.0 } else { f64::INFINITY }
            } else {
                (got - want).abs() / limit
            };
            check.wrong += u64::from(!allowed);
            if worst.is_none_or(|(_, before, _)| ratio > before) {
                worst = Some((position, ratio, limit));
            }
        }
        start = end;
    }
    if let Some((position, ratio, limit)) = worst {
        check.worst = Some(Worst {
            index: layout.index_of(flat(position))?,
            got: got[position],
            want: wanted.values[position],
            limit,
            ratio,
        });
    }
    Ok(check)
}

/// The first byte that differs and belongs to no element.
pub(super) fn gap_damage(
    layout: &HostTensor,
    before: &[u8],
    after: &[u8],
) -> Result<Option<u64>, HostError> {
    if layout.is_contiguous() {
        return Ok(None);
    }
    let mut in_element = vec![false; before.len()];
    for_each_unit(layout, |unit| in_element[unit].fill(true))?;
    let at = before
        .iter()
        .zip(after)
        .zip(&in_element)
        .position(|((a, b), inside)| !inside && a != b);
    Ok(at.map(|byte| byte as u64))
}

/// Whether a wanted answer belongs to this many outputs; kept here so that a caller cannot compare nothing by mistake.
pub(super) fn find(wanted: &Wanted, operand: usize) -> Option<&WantedOutput> {
    wanted.outputs.iter().find(|o| o.operand == operand)
}

#[cfg(test)]
mod tests {
    use super::*;
    use overt_kernels::dtype::{F32, Q8_0};

    fn wanted(values: &[f64]) -> WantedOutput {
        WantedOutput {
            operand: 0,
            want: Want::All,
            values: values.to_vec(),
            tolerance: Tolerance {
                absolute: 0.0,
                relative: 0.01,
                floor: 1e-30,
                reason: "a test",
            },
        }
    }

    #[test]
    fn the_worst_element_is_named_with_its_index_and_wrong_ones_are_counted() {
        let mut tensor = HostTensor::contiguous(F32, &[2, 3]).unwrap();
        let mut values = [1.0, 2.0, 3.0, 4.0, 5.5, 6.0].into_iter();
        tensor.fill_with(|| values.next().unwrap()).unwrap();
        let check = output(
            "out",
            &tensor,
            &tensor.bytes,
            &wanted(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.01]),
        )
        .unwrap();
        assert_eq!((check.compared, check.wrong), (6, 1));
        let worst = check.worst.unwrap();
        assert_eq!((worst.index, worst.got, worst.want), (vec![1, 1], 5.5, 5.0));
        assert!((worst.ratio - 10.0).abs() < 1e-9);
    }

    #[test]
    fn memory_that_was_never_written_is_wrong_and_infinitely_so() {
        let tensor = HostTensor::contiguous(F32, &[1, 2]).unwrap();
        let check = output("out", &tensor, &tensor.bytes, &wanted(&[0.0, 1.0])).unwrap();
        assert_eq!(check.wrong, 2);
        assert_eq!(check.worst.unwrap().ratio, f64::INFINITY);
    }

    #[test]
    fn a_written_gap_is_found_and_a_written_element_is_none() {
        let tensor = HostTensor::padded(F32, &[2, 2], 1, 0).unwrap();
        let mut after = tensor.bytes.clone();
        after[0] = 1;
        assert_eq!(gap_damage(&tensor, &tensor.bytes, &after).unwrap(), None);
        after[9] = 1;
        assert_eq!(gap_damage(&tensor, &tensor.bytes, &after).unwrap(), Some(9));
    }

    #[test]
    fn outputs_of_blocks_are_decoded_and_a_byte_between_their_rows_is_a_gap() {
        let mut tensor = HostTensor::padded(Q8_0, &[2, 64], 32, 0).unwrap();
        tensor.fill_with(|| 1.0).unwrap();
        let check = output("out", &tensor, &tensor.bytes, &wanted(&[1.0; 128])).unwrap();
        assert_eq!((check.compared, check.wrong), (128, 0));
        let mut after = tensor.bytes.clone();
        // The second row's first block follows two blocks and one of padding.
        after[3 * 34 + 2] = 0;
        let check = output("out", &tensor, &after, &wanted(&[1.0; 128])).unwrap();
        assert_eq!((check.wrong, check.worst.unwrap().index), (1, vec![1, 0]));
        assert_eq!(gap_damage(&tensor, &tensor.bytes, &after).unwrap(), None);
        after[3 * 34 - 1] ^= 1;
        let gap = gap_damage(&tensor, &tensor.bytes, &after).unwrap();
        assert_eq!(gap, Some(3 * 34 - 1));
    }
}

//! The slots of a call, sorted by expert once, so that each expert's weights are read once.

use super::operands::{B, EXPERTS};
use overt_sdk::host::Job;
use overt_sdk::{Error, Result};
use std::ops::Range;

/// A token and one of its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub token: usize,
    pub slot: usize,
}

/// Slots in order of their experts, and by token and slot within one.
pub struct Sorted {
    slots: Vec<Slot>,
    /// Experts that occur, ascending, each with the end of its slots.
    ends: Vec<(usize, usize)>,
    /// Slots without an expert.
    pub none: Vec<Slot>,
}

impl Sorted {
    /// # Errors
    /// An expert that the weights do not have: its place.
    pub fn of(job: &Job<'_>) -> Result<Self> {
        let (chosen, experts) = (job.view(EXPERTS)?, job.view(B)?.shape()[0]);
        let (tokens, slots) = (chosen.shape()[0], chosen.shape()[1]);
        let mut keyed = Vec::with_capacity((tokens * slots) as usize);
        let mut none = Vec::new();
        for t in 0..tokens {
            for s in 0..slots {
                let expert = chosen.load_int(chosen.at([t, s]));
                let slot = Slot {
                    token: t as usize,
                    slot: s as usize,
                };
                if expert >= experts {
                    return Err(Error::invalid(format!(
                        "operand `experts` at [{t}, {s}]: {expert}; wanted a negative number or one below {experts}"
                    )));
                }
                match usize::try_from(expert) {
                    Ok(expert) => keyed.push((expert, slot)),
                    Err(_) => none.push(slot),
                }
            }
        }
        // Stable, so that slots of one expert stay in order.
        keyed.sort_by_key(|(expert, _)| *expert);
        let mut ends: Vec<(usize, usize)> = Vec::new();
        for (i, (expert, _)) in keyed.iter().enumerate() {
            match ends.last_mut() {
                Some((last, end)) if last == expert => *end = i + 1,
                _ => ends.push((*expert, i + 1)),
            }
        }
        Ok(Self {
            slots: keyed.into_iter().map(|(_, slot)| slot).collect(),
            ends,
            none,
        })
    }

    /// Each expert that occurs, and the numbers of its slots in the order of all.
    pub fn experts(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let mut start = 0;
        self.ends.iter().map(move |&(expert, end)| {
            let range = start..end;
            start = end;
            (expert, range)
        })
    }

    /// How many slots have an expert.
    #[cfg(target_arch = "x86_64")]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// The slots of these numbers.
    pub fn slots(&self, numbers: Range<usize>) -> &[Slot] {
        &self.slots[numbers]
    }
}

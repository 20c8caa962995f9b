//! Witnesses: the counts of just those calls that carry a token.

use super::Counts;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Counts the calls that are given it, and no others, whatever other threads do meanwhile. It asserts only once every stream that
/// carried its calls has been synchronised without error. Cheap to clone; clones are one witness. `Send` and `Sync`.
#[derive(Clone, Default)]
pub struct Witness(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    kernels: BTreeMap<String, Counts>,
    /// Streams with calls that were not synchronised since.
    open: Vec<u64>,
}

/// What a witness saw.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Witnessed {
    /// Counts by kernel id.
    pub kernels: BTreeMap<String, Counts>,
}

/// Why a witness does not vouch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WitnessError {
    /// Work that it would speak of may still be running.
    #[error(
        "{streams} stream(s) carry witnessed calls and were not synchronised since: synchronise first, then ask"
    )]
    NotSynchronised {
        /// Number of streams.
        streams: usize,
    },
    /// The kernel that should have run did not, or not as often.
    #[error("{kernel} ran {got} time(s), expected {expected}; what ran: {ran}")]
    Ran {
        /// The kernel expected.
        kernel: String,
        /// How often it completed.
        got: u64,
        /// How often it should have.
        expected: u64,
        /// Everything that completed, failed or lied instead.
        ran: String,
    },
}

impl Witness {
    /// A new witness that has seen nothing.
    pub fn new() -> Witness {
        Witness::default()
    }

    /// What it saw.
    pub fn seen(&self) -> Result<Witnessed, WitnessError> {
        let state = self.0.lock();
        if !state.open.is_empty() {
            return Err(WitnessError::NotSynchronised {
                streams: state.open.len(),
            });
        }
        Ok(Witnessed {
            kernels: state.kernels.clone(),
        })
    }

    /// Vouches that `kernel` completed exactly `times` among the witnessed calls, and that no other kernel ran.
    pub fn assert_only(&self, kernel: &str, times: u64) -> Result<(), WitnessError> {
        let seen = self.seen()?;
        let others = seen
            .kernels
            .iter()
            .any(|(id, c)| id != kernel && (c.completed + c.failed + c.lies) > 0);
        let got = seen.kernels.get(kernel).map_or(0, |c| c.completed);
        if got == times && !others {
            Ok(())
        } else {
            Err(seen.differs(kernel, got, times))
        }
    }

    /// Vouches that `kernel` completed exactly `times` among the witnessed calls, whatever else ran.
    pub fn assert_ran(&self, kernel: &str, times: u64) -> Result<(), WitnessError> {
        let seen = self.seen()?;
        let got = seen.kernels.get(kernel).map_or(0, |c| c.completed);
        if got == times {
            Ok(())
        } else {
            Err(seen.differs(kernel, got, times))
        }
    }

    pub(crate) fn note(&self, kernel: &str, stream: Option<u64>, change: impl FnOnce(&mut Counts)) {
        let mut state = self.0.lock();
        if let Some(counts) = state.kernels.get_mut(kernel) {
            change(counts);
        } else {
            change(state.kernels.entry(kernel.to_owned()).or_default());
        }
        if let Some(stream) = stream
            && !state.open.contains(&stream)
        {
            state.open.push(stream);
        }
    }

    /// A stream that carried calls of this witness was synchronised.
    pub(crate) fn settle(&self, stream: u64, mine: &[(String, u64)], good: bool) {
        let mut state = self.0.lock();
        state.open.retain(|s| *s != stream);
        for (kernel, calls) in mine {
            if let Some(counts) = state.kernels.get_mut(kernel) {
                if good {
                    counts.completed += calls;
                } else {
                    counts.failed += calls;
                }
            }
        }
    }

    /// Whether both are one witness.
    pub(crate) fn same(&self, other: &Witness) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Witnessed {
    fn differs(&self, kernel: &str, got: u64, expected: u64) -> WitnessError {
        let ran: Vec<String> = self
            .kernels
            .iter()
            .map(|(id, c)| {
                let mut text = format!("{id} completed {}", c.completed);
                for (name, n) in [
                    ("failed", c.failed),
                    ("captured", c.captured),
                    ("lied", c.lies),
                ] {
                    if n > 0 {
                        text.push_str(&format!(", {name} {n}"));
                    }
                }
                text
            })
            .collect();
        let ran = if ran.is_empty() {
            "nothing".into()
        } else {
            ran.join("; ")
        };
        WitnessError::Ran {
            kernel: kernel.into(),
            got,
            expected,
            ran,
        }
    }
}

impl std::fmt::Debug for Witness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.0.lock();
        f.debug_struct("Witness")
            .field("kernels", &state.kernels)
            .field("open", &state.open.len())
            .finish()
    }
}

//! What an instance was told to do wrong, and what it has done.
//!
//! Misbehaviours, joined by commas in the knob:
//!
//! * `panic:ENTRY`: the entry panics (`create`, `devices`, `open`, `open_kernel`, `launch`, `body` and every other method of a device)
//! * `open_once`: the first set-up of each kernel on each device fails
//! * `lie_symbol`: a launch enqueues the op's reference body
//! * `lie_foreign`: a launch enqueues a body that no kernel declares
//! * `lie_image`: a launch enqueues its own symbol out of an image that is not its kernel's
//! * `lie_nothing`: a launch enqueues nothing
//! * `lie_second`: a launch enqueues its body and the reference body after it
//! * `unsupported`, `refuse`: a launch says so after the guard held
//! * `fail_async`: a body fails when it runs
//! * `env`: starting reads `OVERT_FAKE_SECRET` from the environment
//! * `fail_create`: starting fails
//! * `no_peer`: a copy from another device is not supported
//! * `no_host_address`, `no_address`: memory states no host address, no device address

use overt_sdk::host::Recorder;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What instances of one label have done, kept for the life of the process.
#[derive(Default)]
pub struct Label {
    counts: Mutex<BTreeMap<String, u64>>,
    pub recorder: Recorder,
}

impl Label {
    /// The record of this name.
    pub fn find(name: &str) -> Arc<Label> {
        static ALL: Mutex<BTreeMap<String, Arc<Label>>> = Mutex::new(BTreeMap::new());
        ALL.lock().entry(name.to_owned()).or_default().clone()
    }

    /// Counts something and returns its number before.
    pub fn count(&self, key: &str) -> u64 {
        let mut counts = self.counts.lock();
        if let Some(count) = counts.get_mut(key) {
            *count += 1;
            return *count - 1;
        }
        counts.insert(key.to_owned(), 1);
        0
    }

    /// How often something happened.
    pub fn get(&self, key: &str) -> u64 {
        self.counts.lock().get(key).copied().unwrap_or(0)
    }
}

/// Of an instance, or of one of its devices.
#[derive(Clone)]
pub struct Context {
    pub label: Arc<Label>,
    pub misbehave: Arc<[String]>,
    pub device: usize,
}

impl Context {
    pub fn new(label: &str, misbehave: &str) -> Context {
        Context {
            label: Label::find(label),
            misbehave: misbehave
                .split(',')
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect(),
            device: 0,
        }
    }

    pub fn has(&self, word: &str) -> bool {
        self.misbehave.iter().any(|have| have == word)
    }

    /// Notes that an entry was called, and panics where it shall.
    pub fn entry(&self, entry: &'static str) {
        // Comparing before building a text keeps the hot entries free of allocations.
        let panics = self
            .misbehave
            .iter()
            .any(|word| word.strip_prefix("panic:") == Some(entry));
        self.label.count(entry);
        assert!(!panics, "told to panic in {entry}");
    }
}

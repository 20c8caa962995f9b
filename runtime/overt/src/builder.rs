//! Describing and starting a runtime.

use crate::core::{Runtime, check_policy};
use crate::error::Error;
use crate::knob::{KnobSettings, Setting};
use crate::load::decl::Value;
use crate::load::{FailedProvider, LoadRequest, Surroundings};
use crate::registry::{Instance, Snapshot};
use crate::select::Policy;
use std::path::PathBuf;
use std::sync::Arc;

/// Describes a runtime. Without more, it looks for providers where `docs/loading.md` says and warns of fallbacks.
#[derive(Clone, Debug)]
pub struct RuntimeBuilder {
    paths: Vec<PathBuf>,
    search: bool,
    policy: Policy,
    knobs: Vec<Setting>,
    checked: bool,
}

impl Default for RuntimeBuilder {
    fn default() -> RuntimeBuilder {
        RuntimeBuilder {
            paths: Vec::new(),
            search: true,
            policy: Policy::default(),
            knobs: Vec::new(),
            checked: false,
        }
    }
}

impl RuntimeBuilder {
    /// Adds a provider library, which must load, or a folder of them, which must exist. Absolute. Comes before what is searched.
    #[must_use]
    pub fn providers(mut self, path: impl Into<PathBuf>) -> RuntimeBuilder {
        self.paths.push(path.into());
        self
    }

    /// Whether to search the environment's path and the folders beside the program too. On by default.
    #[must_use]
    pub fn search(mut self, search: bool) -> RuntimeBuilder {
        self.search = search;
        self
    }

    /// Sets the policy.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> RuntimeBuilder {
        self.policy = policy;
        self
    }

    /// Sets a knob from its text; an integer or truth value is read by the knob's type. Later settings win.
    #[must_use]
    pub fn knob(mut self, id: impl Into<String>, value: impl Into<String>) -> RuntimeBuilder {
        self.knobs.push(Setting {
            id: id.into(),
            value: Value::Str(value.into()),
        });
        self
    }

    /// Checked mode: before each dispatch and each launch of a plan the contents of integer operands are read back and held against
    /// the op's rules. Slow; for finding faults. Replays are not looked at.
    #[must_use]
    pub fn checked(mut self, checked: bool) -> RuntimeBuilder {
        self.checked = checked;
        self
    }

    /// Loads and starts the providers. Fails when one that was asked for does not load or start, when a knob or a kernel named
    /// by the policy is unknown, or a knob's value is out of range. One that was merely found and fails is recorded.
    pub fn start(self) -> Result<Runtime, Error> {
        let surroundings = if self.search {
            Surroundings::of_process()
        } else {
            Surroundings::none()
        };
        let loaded = crate::load::load(&LoadRequest {
            asked: self.paths.clone(),
            search: self.search,
            surroundings,
        })?;
        let knobs = KnobSettings(self.knobs.clone());
        let mut snapshot = Snapshot::new(Policy::default(), knobs.clone())?;
        snapshot.report = loaded.report;
        // Values are checked before any provider sees one.
        for setting in &self.knobs {
            let declared = loaded
                .providers
                .iter()
                .flat_map(|p| &p.decl.knobs)
                .find(|k| k.id == setting.id);
            if let Some(knob) = declared {
                setting.check(knob)?;
            }
        }
        for failed in loaded.failed {
            snapshot.add_failed(failed);
        }
        let mut not_started = Vec::new();
        for provider in loaded.providers {
            let provider = Arc::new(provider);
            let started = Instance::start(provider.clone(), &|knob| knobs.value(knob, None))
                .and_then(|instance| instance.devices().map(|devices| (instance, devices)));
            match started {
                Ok((instance, devices)) => snapshot.add_instance(&instance, devices),
                Err(error) if self.paths.contains(&provider.path) => return Err(error),
                Err(error) => {
                    tracing::warn!(target: "overt::load", provider = provider.decl.name, %error, "did not start");
                    snapshot.add_failed(FailedProvider::not_started(&provider, &error.to_string()));
                    not_started.push(provider);
                }
            }
        }
        // The knobs of a provider that did not start are known all the same: its failure is what is to be told, not theirs.
        let elsewhere = |setting: &Setting| {
            let mut knobs = not_started.iter().flat_map(|p| &p.decl.knobs);
            knobs.any(|knob| knob.id == setting.id)
        };
        let settings: Vec<Setting> = self
            .knobs
            .iter()
            .filter(|setting| !elsewhere(setting))
            .cloned()
            .collect();
        snapshot.check_knobs(&settings)?;
        snapshot.policy = Arc::new(check_policy(&snapshot, self.policy)?);
        Ok(Runtime::start(snapshot, self.checked))
    }
}

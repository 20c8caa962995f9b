//! Runtimes over the providers of the tests.

use crate::built;
use crate::observer::Observer;
use overt::{Device, Policy, Runtime, RuntimeBuilder};
use std::sync::atomic::{AtomicU32, Ordering};

/// A fake provider to be started.
pub struct Fake {
    builder: RuntimeBuilder,
    label: String,
}

/// A started one, with its observer.
pub struct Started {
    /// The runtime.
    pub runtime: Runtime,
    /// Its observer.
    pub observer: Observer,
}

impl Fake {
    /// Devices of these architectures, with commas. Nothing but what a test adds is loaded.
    pub fn of(devices: &str) -> Fake {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let label = format!("{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let builder = Runtime::builder()
            .search(false)
            .providers(built::fake())
            .knob("fake.devices", devices)
            .knob("fake.label", &label);
        Fake { builder, label }
    }

    /// Has something go wrong; the words are in the fake's `context.rs`.
    #[must_use]
    pub fn misbehaving(self, how: &str) -> Fake {
        self.with(|builder| builder.knob("fake.misbehave", how))
    }

    /// Loads the CPU provider too.
    #[must_use]
    pub fn and_cpu(self) -> Fake {
        self.with(|builder| builder.providers(built::cpu()))
    }

    /// Sets the policy.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Fake {
        self.with(|builder| builder.policy(policy))
    }

    /// Changes the builder.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder) -> Fake {
        self.builder = change(self.builder);
        self
    }

    /// Starts it.
    pub fn start(self) -> Started {
        let observer = Observer::new(built::fake(), "fake", &self.label);
        Started {
            runtime: self
                .builder
                .start()
                .unwrap_or_else(|error| panic!("{error}")),
            observer,
        }
    }

    /// Starts it, and returns the error that this must give.
    pub fn refuse(self) -> overt::Error {
        match self.builder.start() {
            Ok(_) => panic!("it started"),
            Err(error) => error,
        }
    }
}

impl Started {
    /// A device by name.
    pub fn device(&self, name: &str) -> Device {
        self.runtime
            .device(name)
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

/// A runtime over the Vulkan provider alone.
pub fn vulkan() -> RuntimeBuilder {
    Runtime::builder().search(false).providers(built::vulkan())
}

/// A runtime over the CPU provider alone.
pub fn cpu() -> RuntimeBuilder {
    Runtime::builder().search(false).providers(built::cpu())
}

//! A provider whose kernels are the ops' oracles: slow, right, and of another make than the CPU provider's. A language model runs on its
//! devices whole, so that models can be split between providers, and work on one device can be told to fail where nothing is wrong.
//!
//! Beside the misbehaviours of the first fake provider it knows `fail:DEVICE:N`: the body of that number, counted from 0 on that device,
//! fails when it runs.

#[path = "../../fake/src/arch.rs"]
mod arch;
mod compute;
#[path = "../../fake/src/context.rs"]
mod context;
#[path = "../../fake/src/device.rs"]
mod device;
mod kernels;
#[path = "../../fake/src/observer.rs"]
mod observer;
#[path = "../../fake/src/provider.rs"]
mod provider;

/// The provider's name.
pub const NAME: &str = "oracle";

overt_sdk::knob! {
    id: "oracle.devices",
    default: "sm_86",
    doc: "architectures of the devices, with commas",
    at_create: true,
}

overt_sdk::knob! {
    id: "oracle.label",
    default: "",
    doc: "names the record that this instance counts into",
    at_create: true,
}

overt_sdk::knob! {
    id: "oracle.misbehave",
    default: "",
    doc: "what goes wrong, with commas",
    at_create: true,
}

overt_sdk::knob! {
    id: "oracle.create_ms",
    default: 0,
    doc: "how long starting takes",
    range: 0..=60_000,
    at_create: true,
}

overt_sdk::export_provider!(provider::Fake);

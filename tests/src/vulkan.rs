//! Vulkan's software devices, of which `cargo xtask test` names two to the loader.

use crate::start;
use overt::{Device, Runtime};

/// Part of the name of Mesa's software device.
pub const LAVAPIPE: &str = "llvmpipe";
/// Part of the name of the software device that lacks narrow types.
pub const SWIFTSHADER: &str = "SwiftShader";

/// A runtime with the Vulkan provider.
pub fn runtime() -> Runtime {
    start::vulkan()
        .start()
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The device with this in its name.
pub fn find(runtime: &Runtime, name: &str) -> Option<Device> {
    let devices = runtime.devices();
    devices.into_iter().find(|d| d.info().name.contains(name))
}

/// The device with this in its name, which a capability has promised.
pub fn device(runtime: &Runtime, name: &str) -> Device {
    find(runtime, name).unwrap_or_else(|| panic!("no device {name}"))
}

/// Whether there is such a device, and why not.
pub fn present(name: &str) -> Result<(), String> {
    let runtime = start::vulkan().start().map_err(|e| e.to_string())?;
    if find(&runtime, name).is_some() {
        return Ok(());
    }
    let names: Vec<String> = runtime
        .devices()
        .iter()
        .map(|d| d.info().name.clone())
        .collect();
    Err(format!(
        "no Vulkan device is called {name}; there are: {}",
        names.join(", ")
    ))
}

/// Whether the provider can run under the validation layer.
pub fn validates() -> Result<(), String> {
    let started = start::vulkan().knob("vulkan.validation", "true").start();
    started.map(drop).map_err(|error| error.to_string())
}

//! The provider and its settings.

use crate::device::VulkanDevice;
use crate::loader::{Absent, Instance};
use crate::physical::{self, Physical};
use overt_sdk::host::Recorder;
use overt_sdk::{DeviceDesc, Error, Host, Options, Provider, Result, Sink};
use std::path::PathBuf;
use std::sync::Arc;

overt_sdk::knob! {
    id: "vulkan.loader",
    default: "",
    doc: "file of the Vulkan loader; empty for the system's",
    at_create: true,
}

overt_sdk::knob! {
    id: "vulkan.pipeline_cache",
    default: "",
    doc: "folder that keeps compiled pipelines between runs, a file for each device, driver and build; empty for none",
    at_create: true,
}

overt_sdk::knob! {
    id: "vulkan.validation",
    default: false,
    doc: "runs under the Khronos validation layer; what it says is logged, and an error fails the next synchronise",
    at_create: true,
}

overt_sdk::knob! {
    id: "vulkan.features",
    default: "all",
    doc: "optional device features that kernels may use: all, none, or names with commas; those that the device lacks stay off",
    at_create: true,
}

/// The provider.
pub struct Vulkan {
    host: Host,
    instance: Option<Arc<Instance>>,
    devices: Vec<Physical>,
    cache: Option<PathBuf>,
    validation: bool,
    recorder: Recorder,
}

impl Provider for Vulkan {
    const NAME: &'static str = "vulkan";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    type Device = VulkanDevice;

    fn create(host: Host, options: &Options<'_>, notes: Sink<'_>) -> Result<Self> {
        options.refuse_unknown(&[
            "vulkan.features",
            "vulkan.loader",
            "vulkan.pipeline_cache",
            "vulkan.validation",
        ])?;
        let validation = options.bool("vulkan.validation")?.unwrap_or(false);
        let mut made = Self {
            host,
            instance: None,
            devices: Vec::new(),
            cache: match options.text("vulkan.pipeline_cache")?.unwrap_or("") {
                "" => None,
                folder => Some(folder.into()),
            },
            validation,
            recorder: Recorder::default(),
        };
        let loader = options.text("vulkan.loader")?.unwrap_or("");
        let instance = match Instance::new(loader, validation) {
            Ok(instance) => Arc::new(instance),
            Err(Absent::Nothing(why)) => {
                notes.write(&why);
                return Ok(made);
            }
            Err(Absent::Failed(error)) => return Err(error),
        };
        let mask = options.text("vulkan.features")?.unwrap_or("all");
        let mut left_out = Vec::new();
        made.devices = physical::all(&instance, mask, &mut left_out)?;
        left_out.extend(instance.heard());
        if made.devices.is_empty() && left_out.is_empty() {
            left_out.push("the Vulkan loader knows no device".into());
        }
        notes.write(&left_out.join("; "));
        made.instance = Some(instance);
        Ok(made)
    }

    fn devices(&self) -> Vec<DeviceDesc> {
        self.devices.iter().map(Physical::describe).collect()
    }

    fn open(&self, index: usize, context: Option<&overt_abi::OvertImport>) -> Result<VulkanDevice> {
        if context.is_some() {
            return Err(Error::unsupported(
                "a VkDevice of the host's cannot be taken in: its enabled features cannot be asked for",
            ));
        }
        let (Some(instance), Some(physical)) = (&self.instance, self.devices.get(index)) else {
            return Err(Error::invalid(format!(
                "there is no device {index}; there are {}",
                self.devices.len()
            )));
        };
        VulkanDevice::open(
            self.host,
            instance.clone(),
            physical,
            self.cache.as_deref(),
            self.validation,
            &self.recorder,
        )
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.recorder)
    }
}

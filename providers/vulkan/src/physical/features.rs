//! Optional features: which a device has, which are enabled.

use crate::loader::{Instance, failed};
use ash::vk;
use overt_sdk::{Error, Result};
use std::ffi::{CStr, CString};

/// A structure of VK_KHR_shader_bfloat16, which is newer than the bindings.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Bfloat16 {
    s_type: i32,
    next: usize,
    types: vk::Bool32,
    dot: vk::Bool32,
    matrices: vk::Bool32,
}

/// A structure of VK_EXT_shader_float8, which is newer than the bindings.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Float8 {
    s_type: i32,
    next: usize,
    types: vk::Bool32,
    matrices: vk::Bool32,
}

const BFLOAT16_TYPE: i32 = 1_000_141_000;
const FLOAT8_TYPE: i32 = 1_000_567_000;
const BFLOAT16: &CStr = c"VK_KHR_shader_bfloat16";
const FLOAT8: &CStr = c"VK_EXT_shader_float8";

// SAFETY: the layout is that of the registry: type, pointer, then truth values.
unsafe impl vk::TaggedStructure for Bfloat16 {
    const STRUCTURE_TYPE: vk::StructureType = vk::StructureType::from_raw(BFLOAT16_TYPE);
}
// SAFETY: it extends the features of a device and the making of one, by the registry.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for Bfloat16 {}
// SAFETY: as above.
unsafe impl vk::ExtendsDeviceCreateInfo for Bfloat16 {}
// SAFETY: the layout is that of the registry.
unsafe impl vk::TaggedStructure for Float8 {
    const STRUCTURE_TYPE: vk::StructureType = vk::StructureType::from_raw(FLOAT8_TYPE);
}
// SAFETY: as for bfloat16.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for Float8 {}
// SAFETY: as for bfloat16.
unsafe impl vk::ExtendsDeviceCreateInfo for Float8 {}

/// Names in the order of [`Features::on`].
const NAMES: [&str; 17] = [
    "fp16",
    "fp64",
    "int8",
    "int16",
    "int64",
    "storage8",
    "storage16",
    "memory_model",
    "subgroup_size_control",
    "full_subgroups",
    "dot8",
    "coopmat",
    "bf16",
    "bf16_coopmat",
    "fp8",
    "fp8_coopmat",
    "executable_properties",
];

/// The optional features of a device, and what is needed always.
#[derive(Clone)]
pub struct Features {
    on: [bool; NAMES.len()],
    /// What every kernel builds on and this device lacks.
    lacking: Option<&'static str>,
    extensions: Vec<CString>,
    newer: bool,
    /// The device states its place on the bus.
    pub pci: bool,
}

impl Features {
    /// Asks the device. `newer`: it speaks 1.3.
    pub fn of(instance: &Instance, raw: vk::PhysicalDevice, newer: bool) -> Result<Features> {
        // SAFETY: the device is the instance's.
        let found = unsafe { instance.raw.enumerate_device_extension_properties(raw) }
            .map_err(|e| failed("vkEnumerateDeviceExtensionProperties", e))?;
        let extensions: Vec<CString> = found
            .iter()
            .filter_map(|e| e.extension_name_as_c_str().ok())
            .map(Into::into)
            .collect();
        let has = |name: &CStr| extensions.iter().any(|e| e.as_c_str() == name);
        let mut asked = Asked::default();
        {
            let mut all = vk::PhysicalDeviceFeatures2::default()
                .push_next(&mut asked.v11)
                .push_next(&mut asked.v12);
            if newer {
                all = all.push_next(&mut asked.v13);
            }
            if has(ash::khr::cooperative_matrix::NAME) {
                all = all.push_next(&mut asked.matrices);
            }
            if has(BFLOAT16) {
                all = all.push_next(&mut asked.bfloat16);
            }
            if has(FLOAT8) {
                all = all.push_next(&mut asked.float8);
            }
            if has(ash::khr::pipeline_executable_properties::NAME) {
                all = all.push_next(&mut asked.executables);
            }
            // SAFETY: the device is the instance's, and each structure is one of its version or of an extension that it has.
            unsafe { instance.raw.get_physical_device_features2(raw, &mut all) };
            asked.core = all.features;
        }
        let yes = |value: vk::Bool32| value != vk::FALSE;
        let lacking = [
            (asked.v12.timeline_semaphore, "timeline semaphores"),
            (asked.v12.buffer_device_address, "buffer device addresses"),
        ]
        .into_iter()
        .find(|(value, _)| !yes(*value))
        .map(|(_, name)| name);
        let memory_model =
            yes(asked.v12.vulkan_memory_model) && yes(asked.v12.vulkan_memory_model_device_scope);
        let coopmat =
            yes(asked.matrices.cooperative_matrix) && memory_model && yes(asked.v12.shader_float16);
        Ok(Features {
            on: [
                yes(asked.v12.shader_float16),
                yes(asked.core.shader_float64),
                yes(asked.v12.shader_int8),
                yes(asked.core.shader_int16),
                yes(asked.core.shader_int64),
                yes(asked.v12.storage_buffer8_bit_access),
                yes(asked.v11.storage_buffer16_bit_access),
                memory_model,
                yes(asked.v13.subgroup_size_control),
                yes(asked.v13.compute_full_subgroups),
                yes(asked.v13.shader_integer_dot_product),
                coopmat,
                yes(asked.bfloat16.types),
                yes(asked.bfloat16.matrices) && coopmat,
                yes(asked.float8.types),
                yes(asked.float8.matrices) && coopmat,
                yes(asked.executables.pipeline_executable_info),
            ],
            lacking,
            pci: has(ash::ext::pci_bus_info::NAME),
            extensions,
            newer,
        })
    }

    /// The same with all but the named features off, or what every kernel needs and the device lacks.
    pub fn masked(mut self, mask: &str) -> Result<Result<Features, &'static str>> {
        if let Some(lacking) = self.lacking {
            return Ok(Err(lacking));
        }
        if mask == "all" {
            return Ok(Ok(self));
        }
        let mut wanted = [false; NAMES.len()];
        for name in mask.split(',').map(str::trim).filter(|n| !n.is_empty()) {
            if name == "none" {
                continue;
            }
            let place = NAMES.iter().position(|known| *known == name);
            let place = place.ok_or_else(|| {
                Error::invalid(format!(
                    "option `vulkan.features`: `{name}` is no feature; known: all, none, {}",
                    NAMES.join(", ")
                ))
            })?;
            wanted[place] = true;
        }
        for (on, wanted) in self.on.iter_mut().zip(wanted) {
            *on &= wanted;
        }
        Ok(Ok(self))
    }

    /// Names and states.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, bool)> + '_ {
        NAMES.into_iter().zip(self.on)
    }

    /// Whether a feature is there and allowed.
    pub fn has(&self, name: &str) -> bool {
        self.all().any(|(known, on)| known == name && on)
    }

    /// Makes a device with exactly these features enabled.
    pub fn make(
        &self,
        instance: &Instance,
        raw: vk::PhysicalDevice,
        family: u32,
    ) -> Result<ash::Device> {
        let bit = |name: &str| vk::Bool32::from(self.has(name));
        let mut asked = Asked::default();
        asked.core.shader_float64 = bit("fp64");
        asked.core.shader_int16 = bit("int16");
        asked.core.shader_int64 = bit("int64");
        asked.v11.storage_buffer16_bit_access = bit("storage16");
        asked.v12.shader_float16 = bit("fp16");
        asked.v12.shader_int8 = bit("int8");
        asked.v12.storage_buffer8_bit_access = bit("storage8");
        asked.v12.timeline_semaphore = vk::TRUE;
        asked.v12.buffer_device_address = vk::TRUE;
        asked.v12.vulkan_memory_model = bit("memory_model");
        asked.v12.vulkan_memory_model_device_scope = bit("memory_model");
        asked.v13.subgroup_size_control = bit("subgroup_size_control");
        asked.v13.compute_full_subgroups = bit("full_subgroups");
        asked.v13.shader_integer_dot_product = bit("dot8");
        asked.matrices.cooperative_matrix = bit("coopmat");
        asked.bfloat16.types = bit("bf16");
        asked.bfloat16.matrices = bit("bf16_coopmat");
        asked.float8.types = bit("fp8");
        asked.float8.matrices = bit("fp8_coopmat");
        asked.executables.pipeline_executable_info = bit("executable_properties");
        let mut names: Vec<&CStr> = Vec::new();
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(family)
            .queue_priorities(&[1.0])];
        let core = asked.core;
        let mut info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_features(&core)
            .push_next(&mut asked.v11)
            .push_next(&mut asked.v12);
        if self.newer {
            info = info.push_next(&mut asked.v13);
        }
        if self.has("coopmat") {
            names.push(ash::khr::cooperative_matrix::NAME);
            info = info.push_next(&mut asked.matrices);
        }
        if self.has("bf16") {
            names.push(BFLOAT16);
            info = info.push_next(&mut asked.bfloat16);
        }
        if self.has("fp8") {
            names.push(FLOAT8);
            info = info.push_next(&mut asked.float8);
        }
        if self.has("executable_properties") {
            names.push(ash::khr::pipeline_executable_properties::NAME);
            info = info.push_next(&mut asked.executables);
        }
        debug_assert!(
            names
                .iter()
                .all(|n| self.extensions.iter().any(|e| e.as_c_str() == *n))
        );
        let pointers: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        info = info.enabled_extension_names(&pointers);
        // SAFETY: features and extensions are those that the device has said to have, and the info lives during the call.
        unsafe { instance.raw.create_device(raw, &info, None) }
            .map_err(|e| failed("vkCreateDevice", e))
    }
}

/// Structures by which features are asked for and enabled.
struct Asked {
    core: vk::PhysicalDeviceFeatures,
    v11: vk::PhysicalDeviceVulkan11Features<'static>,
    v12: vk::PhysicalDeviceVulkan12Features<'static>,
    v13: vk::PhysicalDeviceVulkan13Features<'static>,
    matrices: vk::PhysicalDeviceCooperativeMatrixFeaturesKHR<'static>,
    executables: vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR<'static>,
    bfloat16: Bfloat16,
    float8: Float8,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked {
            core: Default::default(),
            v11: Default::default(),
            v12: Default::default(),
            v13: Default::default(),
            matrices: Default::default(),
            executables: Default::default(),
            bfloat16: Bfloat16 {
                s_type: BFLOAT16_TYPE,
                ..Default::default()
            },
            float8: Float8 {
                s_type: FLOAT8_TYPE,
                ..Default::default()
            },
        }
    }
}

//! Physical devices: what their drivers say of them, as facts.

mod features;
mod matrices;

pub use features::Features;

use crate::loader::{Instance, LEAST_VERSION, failed, shown};
use ash::vk;
use overt_sdk::{Arch, DeviceDesc, DeviceKind, Result, Value};
use std::ffi::CStr;

/// The family of architectures: versions of the API.
pub const FAMILY: &str = "vulkan";

/// Sizes that kernels and launches have to keep.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Groups of one launch, in each direction.
    pub groups: [u32; 3],
    /// Invocations of a group, in each direction.
    pub block: [u32; 3],
    /// Invocations of a group, in all.
    pub invocations: u32,
    /// Shared memory of a group, bytes.
    pub shared_bytes: u32,
    /// Push constants, bytes.
    pub push_bytes: u32,
    /// Least and greatest invocations of a subgroup.
    pub subgroup: [u32; 2],
    /// Largest single allocation, bytes.
    pub allocation_bytes: u64,
    /// Nanoseconds of a tick of the device's clock; 0 where it has none.
    pub tick: f64,
    /// Bits of a timestamp that mean something.
    pub tick_bits: u32,
}

/// A physical device that kernels can run on.
pub struct Physical {
    pub raw: vk::PhysicalDevice,
    /// The queue family for compute.
    pub family: u32,
    pub limits: Limits,
    pub features: Features,
    pub properties: vk::PhysicalDeviceProperties,
    /// Driver, version and build, as the driver words them.
    pub driver: String,
    pub device_uuid: [u8; 16],
    pub driver_uuid: [u8; 16],
    id: String,
    pci: String,
    memory_bytes: u64,
    subgroup_size: u32,
    subgroup_operations: vk::SubgroupFeatureFlags,
    shapes: Vec<String>,
}

/// All that can be used. Why another one is left out goes to `left_out`.
pub fn all(instance: &Instance, mask: &str, left_out: &mut Vec<String>) -> Result<Vec<Physical>> {
    // SAFETY: the instance is alive.
    let found = match unsafe { instance.raw.enumerate_physical_devices() } {
        Ok(found) => found,
        // A driver that cannot start is one more reason, not a failure of those beside it.
        Err(vk::Result::ERROR_INITIALIZATION_FAILED) => Vec::new(),
        Err(e) => return Err(failed("vkEnumeratePhysicalDevices", e)),
    };
    let mut devices: Vec<Physical> = Vec::new();
    for raw in found {
        match one(instance, raw, mask)? {
            Ok(mut device) => {
                // The same hardware by two drivers, or twice by one, stays apart.
                if devices.iter().any(|other| other.id == device.id) {
                    device.id += &format!("+{}", device.driver.split(' ').next().unwrap_or(""));
                }
                let base = device.id.clone();
                let mut turn = 2;
                while devices.iter().any(|other| other.id == device.id) {
                    device.id = format!("{base}#{turn}");
                    turn += 1;
                }
                devices.push(device);
            }
            Err(why) => left_out.push(why),
        }
    }
    Ok(devices)
}

fn text(words: &[std::ffi::c_char]) -> String {
    // SAFETY: a driver's text ends with a zero inside its array, by the specification.
    unsafe { CStr::from_ptr(words.as_ptr()) }
        .to_string_lossy()
        .into_owned()
}

/// A device, or why it cannot be used.
fn one(
    instance: &Instance,
    raw: vk::PhysicalDevice,
    mask: &str,
) -> Result<Result<Physical, String>> {
    let vulkan = &instance.raw;
    // SAFETY: the device is the instance's.
    let properties = unsafe { vulkan.get_physical_device_properties(raw) };
    let name = text(&properties.device_name);
    if properties.api_version < LEAST_VERSION {
        return Ok(Err(format!(
            "{name} speaks Vulkan {}; {} is needed",
            shown(properties.api_version),
            shown(LEAST_VERSION)
        )));
    }
    let newer = properties.api_version >= vk::API_VERSION_1_3;
    let mut ids = vk::PhysicalDeviceIDProperties::default();
    let mut drivers = vk::PhysicalDeviceDriverProperties::default();
    let mut subgroups = vk::PhysicalDeviceSubgroupProperties::default();
    let mut maintenance = vk::PhysicalDeviceMaintenance3Properties::default();
    let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
    let mut all = vk::PhysicalDeviceProperties2::default()
        .push_next(&mut ids)
        .push_next(&mut drivers)
        .push_next(&mut subgroups)
        .push_next(&mut maintenance);
    if newer {
        all = all.push_next(&mut sizes);
    }
    // SAFETY: the device is the instance's, and each structure is one of its version.
    unsafe { vulkan.get_physical_device_properties2(raw, &mut all) };
    let features = match Features::of(instance, raw, newer)?.masked(mask)? {
        Ok(features) => features,
        Err(lacking) => return Ok(Err(format!("{name} lacks {lacking}"))),
    };
    // SAFETY: the device is the instance's.
    let families = unsafe { vulkan.get_physical_device_queue_family_properties(raw) };
    let compute = |family: &&vk::QueueFamilyProperties| {
        family.queue_flags.contains(vk::QueueFlags::COMPUTE) && family.queue_count > 0
    };
    let Some(family) = families.iter().position(|f| compute(&f)) else {
        return Ok(Err(format!("{name} has no queue for compute")));
    };
    let limits = &properties.limits;
    let size = subgroups.subgroup_size.max(1);
    let mut range = [size, size];
    if newer && sizes.min_subgroup_size > 0 {
        range = [sizes.min_subgroup_size, sizes.max_subgroup_size];
    }
    let tick_bits = families[family].timestamp_valid_bits;
    let pci = match features.pci {
        true => pci(instance, raw),
        false => String::new(),
    };
    // SAFETY: the device is the instance's.
    let memory = unsafe { vulkan.get_physical_device_memory_properties(raw) };
    let memory_bytes = memory.memory_heaps[..memory.memory_heap_count as usize]
        .iter()
        .filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL))
        .map(|heap| heap.size)
        .max()
        .unwrap_or(0);
    let shapes = match features.has("coopmat") {
        true => matrices::shapes(instance, raw)?,
        false => Vec::new(),
    };
    let driver = format!(
        "{} {}",
        text(&drivers.driver_name),
        text(&drivers.driver_info)
    );
    Ok(Ok(Physical {
        raw,
        family: family as u32,
        limits: Limits {
            groups: limits.max_compute_work_group_count,
            block: limits.max_compute_work_group_size,
            invocations: limits.max_compute_work_group_invocations,
            shared_bytes: limits.max_compute_shared_memory_size,
            push_bytes: limits.max_push_constants_size,
            subgroup: range,
            allocation_bytes: maintenance.max_memory_allocation_size,
            tick: match tick_bits {
                0 => 0.0,
                _ => f64::from(limits.timestamp_period),
            },
            tick_bits,
        },
        features,
        driver: driver.trim().to_owned(),
        device_uuid: ids.device_uuid,
        driver_uuid: ids.driver_uuid,
        id: format!("uuid:{}", hex(&ids.device_uuid)),
        pci,
        memory_bytes,
        subgroup_size: size,
        subgroup_operations: subgroups.supported_operations,
        shapes,
        properties,
    }))
}

fn pci(instance: &Instance, raw: vk::PhysicalDevice) -> String {
    let mut bus = vk::PhysicalDevicePCIBusInfoPropertiesEXT::default();
    let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut bus);
    // SAFETY: the device has the extension of the structure.
    unsafe { instance.raw.get_physical_device_properties2(raw, &mut all) };
    format!(
        "{:04x}:{:02x}:{:02x}.{}",
        bus.pci_domain, bus.pci_bus, bus.pci_device, bus.pci_function
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

impl Physical {
    /// The description for the host.
    pub fn describe(&self) -> DeviceDesc {
        let version = self.properties.api_version;
        let (major, minor) = (
            vk::api_version_major(version),
            vk::api_version_minor(version),
        );
        let arch = Arch::new(format!("{FAMILY}{major}.{minor}"), FAMILY, major, minor, 0);
        let mut desc = DeviceDesc::new(self.id.clone(), text(&self.properties.device_name), arch);
        desc.driver = self.driver.clone().into();
        desc.pci = self.pci.clone().into();
        desc.memory_bytes = self.memory_bytes;
        desc.kind = match self.properties.device_type {
            vk::PhysicalDeviceType::CPU => DeviceKind::Software,
            vk::PhysicalDeviceType::DISCRETE_GPU
            | vk::PhysicalDeviceType::INTEGRATED_GPU
            | vk::PhysicalDeviceType::VIRTUAL_GPU => DeviceKind::Hardware,
            _ => DeviceKind::Unknown,
        };
        let mut fact = |name: String, value: Value| desc.facts.push((name.into(), value));
        for (name, on) in self.features.all() {
            fact(format!("feature.{name}"), on.into());
        }
        let operations = [
            ("arithmetic", vk::SubgroupFeatureFlags::ARITHMETIC),
            ("ballot", vk::SubgroupFeatureFlags::BALLOT),
            ("shuffle", vk::SubgroupFeatureFlags::SHUFFLE),
        ];
        for (name, flag) in operations {
            let on = self.subgroup_operations.contains(flag);
            fact(format!("subgroup.{name}"), on.into());
        }
        let limits = &self.limits;
        let numbers = [
            ("subgroup.size", i64::from(self.subgroup_size)),
            ("subgroup.least", i64::from(limits.subgroup[0])),
            ("subgroup.most", i64::from(limits.subgroup[1])),
            ("limit.invocations", i64::from(limits.invocations)),
            ("limit.block_x", i64::from(limits.block[0])),
            ("limit.groups_x", i64::from(limits.groups[0])),
            ("limit.groups_y", i64::from(limits.groups[1])),
            ("limit.shared_bytes", i64::from(limits.shared_bytes)),
            ("limit.push_bytes", i64::from(limits.push_bytes)),
            (
                "limit.allocation_bytes",
                i64::try_from(limits.allocation_bytes).unwrap_or(i64::MAX),
            ),
        ];
        for (name, value) in numbers {
            fact(name.into(), value.into());
        }
        for shape in &self.shapes {
            fact(format!("coopmat.{shape}"), true.into());
        }
        fact(
            "vendor_id".into(),
            i64::from(self.properties.vendor_id).into(),
        );
        desc
    }
}

//! The layer's place in the chain: instances and devices are made through the next one, whose functions are kept for each.

use crate::{commands, faults};
use ash::vk;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};

/// What the loader hands to a layer that makes an instance or a device: a link to the next.
#[repr(C)]
struct Link {
    s_type: i32,
    next: *mut Link,
    /// 0: a link follows. Other functions are not for this layer.
    function: i32,
    layer: *mut LinkInfo,
}

#[repr(C)]
struct LinkInfo {
    next: *mut LinkInfo,
    instance_proc: vk::PFN_vkGetInstanceProcAddr,
    /// Of a device's link alone.
    device_proc: Option<vk::PFN_vkGetDeviceProcAddr>,
}

const INSTANCE_LINK: i32 = 47;
const DEVICE_LINK: i32 = 48;

/// What finds the next functions of each device, and the device, by the loader's key: the first word of every handle of one device is the same.
static DEVICES: RwLock<Option<HashMap<usize, (vk::PFN_vkGetDeviceProcAddr, u64)>>> =
    RwLock::new(None);
/// The same of each instance.
static INSTANCES: RwLock<Option<HashMap<usize, (vk::PFN_vkGetInstanceProcAddr, u64)>>> =
    RwLock::new(None);

/// The loader's key of a handle.
///
/// # Safety
/// A dispatchable handle.
pub unsafe fn key(handle: u64) -> usize {
    // SAFETY: a dispatchable handle points to a structure whose first word is the loader's table.
    unsafe { *(handle as *const usize) }
}

/// # Safety
/// A list of structures as the loader made it.
unsafe fn link(mut at: *mut Link, kind: i32) -> Option<&'static mut Link> {
    // SAFETY: every structure of the list begins with a type and the next.
    unsafe {
        while let Some(found) = at.as_mut() {
            if found.s_type == kind && found.function == 0 {
                return Some(found);
            }
            at = found.next;
        }
    }
    None
}

/// The next function of a device by name.
///
/// # Safety
/// `handle` is a dispatchable handle of a device that was made through this layer, and `F` is the type of the function of that name.
pub unsafe fn next<F: Copy>(handle: u64, name: &CStr) -> F {
    assert_eq!(size_of::<F>(), size_of::<usize>());
    // SAFETY: the caller's promise.
    unsafe {
        let devices = DEVICES.read();
        let found = devices.as_ref().and_then(|d| d.get(&key(handle)));
        let (proc, device) = *found.expect("a device of this layer");
        // Drivers may read the device, so a queue or a command buffer cannot stand for it.
        let function = proc(vk::Handle::from_raw(device), name.as_ptr());
        std::mem::transmute_copy(&function.expect("a function of every device"))
    }
}

unsafe extern "system" fn create_instance(
    info: *const vk::InstanceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
) -> vk::Result {
    // SAFETY: the loader's structures, by its contract with layers.
    unsafe {
        let Some(link) = link((*info).p_next.cast_mut().cast(), INSTANCE_LINK) else {
            return vk::Result::ERROR_INITIALIZATION_FAILED;
        };
        let proc = (*link.layer).instance_proc;
        link.layer = (*link.layer).next;
        let create = proc(vk::Instance::null(), c"vkCreateInstance".as_ptr());
        let create: vk::PFN_vkCreateInstance = std::mem::transmute(create);
        let result = create(info, allocator, instance);
        if result == vk::Result::SUCCESS {
            let handle = vk::Handle::as_raw(*instance);
            let mut all = INSTANCES.write();
            all.get_or_insert_default()
                .insert(key(handle), (proc, handle));
        }
        result
    }
}

unsafe extern "system" fn create_device(
    physical: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    device: *mut vk::Device,
) -> vk::Result {
    // SAFETY: as for instances.
    unsafe {
        let Some(link) = link((*info).p_next.cast_mut().cast(), DEVICE_LINK) else {
            return vk::Result::ERROR_INITIALIZATION_FAILED;
        };
        let instance_proc = (*link.layer).instance_proc;
        let Some(device_proc) = (*link.layer).device_proc else {
            return vk::Result::ERROR_INITIALIZATION_FAILED;
        };
        link.layer = (*link.layer).next;
        // A physical device has its instance's key.
        let instance = {
            let all = INSTANCES.read();
            let found = all
                .as_ref()
                .and_then(|i| i.get(&key(vk::Handle::as_raw(physical))));
            found.map_or(0, |(_, instance)| *instance)
        };
        let create = instance_proc(vk::Handle::from_raw(instance), c"vkCreateDevice".as_ptr());
        if create.is_none() {
            return vk::Result::ERROR_INITIALIZATION_FAILED;
        }
        let create: vk::PFN_vkCreateDevice = std::mem::transmute(create);
        let result = create(physical, info, allocator, device);
        if result == vk::Result::SUCCESS {
            let handle = vk::Handle::as_raw(*device);
            let mut all = DEVICES.write();
            all.get_or_insert_default()
                .insert(key(handle), (device_proc, handle));
        }
        result
    }
}

unsafe extern "system" fn destroy_device(
    device: vk::Device,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    let handle = vk::Handle::as_raw(device);
    if handle == 0 {
        return;
    }
    // SAFETY: what the application passed, a device of this layer; its key is read before it is gone.
    unsafe {
        let destroy: vk::PFN_vkDestroyDevice = next(handle, c"vkDestroyDevice");
        let key = key(handle);
        if let Some(all) = DEVICES.write().as_mut() {
            all.remove(&key);
        }
        faults::gone(key);
        destroy(device, allocator);
    }
}

/// The function of this layer by name, if it has one.
fn own(name: &CStr) -> vk::PFN_vkVoidFunction {
    let function = match name.to_bytes() {
        b"vkGetInstanceProcAddr" => vkGetInstanceProcAddr as *const c_void,
        b"vkGetDeviceProcAddr" => vkGetDeviceProcAddr as *const c_void,
        b"vkCreateInstance" => create_instance as *const c_void,
        b"vkCreateDevice" => create_device as *const c_void,
        b"vkDestroyDevice" => destroy_device as *const c_void,
        other => commands::own(other)?,
    };
    // SAFETY: each is a function of the type that its name stands for.
    Some(unsafe { std::mem::transmute::<*const c_void, unsafe extern "system" fn()>(function) })
}

/// What the loader calls to find functions of instances.
///
/// # Safety
/// As Vulkan says of `vkGetInstanceProcAddr`.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "system" fn vkGetInstanceProcAddr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(function) = own(CStr::from_ptr(name)) {
            return Some(function);
        }
        let handle = vk::Handle::as_raw(instance);
        if handle == 0 {
            return None;
        }
        let all = INSTANCES.read();
        let (proc, _) = *all.as_ref()?.get(&key(handle))?;
        proc(instance, name)
    }
}

/// What the loader calls to find functions of devices.
///
/// # Safety
/// As Vulkan says of `vkGetDeviceProcAddr`.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "system" fn vkGetDeviceProcAddr(
    device: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(function) = own(CStr::from_ptr(name)) {
            return Some(function);
        }
        let all = DEVICES.read();
        let (proc, _) = *all.as_ref()?.get(&key(vk::Handle::as_raw(device)))?;
        proc(device, name)
    }
}

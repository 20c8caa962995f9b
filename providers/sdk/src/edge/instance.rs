//! Entries of the instance and of its devices.

use super::{DeviceBox, Shared, check_out, entry, reference, void, write};
use crate::arena::Arena;
use crate::declare::table;
use crate::device::{Device, DeviceDesc};
use crate::provider::{Host, Options, Provider};
use crate::text::Sink;
use crate::{Error, Result};
use overt_abi::*;
use std::sync::Arc;

/// Behind an `OvertInstance`.
pub(crate) struct InstanceBox<P> {
    pub(crate) provider: P,
    host: Host,
    infos: Vec<OvertDeviceInfo>,
    // Owns what `infos` points to.
    _arena: Arena,
}

// SAFETY: `infos` points into the arena, which lives as long and is never written.
unsafe impl<P: Send> Send for InstanceBox<P> {}
// SAFETY: as above.
unsafe impl<P: Sync> Sync for InstanceBox<P> {}

pub(crate) unsafe extern "C" fn create<P: Provider>(
    host: *const OvertHost,
    options: *const OvertOption,
    option_count: u32,
    instance: *mut *mut OvertInstance,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        check_out(instance, "instance")?;
        // SAFETY: arguments.
        let (host, options, notes) = unsafe {
            super::sized(host, "host")?;
            (
                Host::new(host),
                Options::new(options, option_count)?,
                Sink::new(sink),
            )
        };
        let provider = P::create(host, &options, notes)?;
        let mut arena = Arena::default();
        let infos = provider
            .devices()
            .iter()
            .map(|d| info::<P>(&mut arena, d))
            .collect();
        let made = Box::new(InstanceBox {
            provider,
            host,
            infos,
            _arena: arena,
        });
        // SAFETY: outs.
        unsafe { write(instance, "instance", Box::into_raw(made).cast()) }
    })
}

fn info<P: Provider>(arena: &mut Arena, desc: &DeviceDesc) -> OvertDeviceInfo {
    let mut flags = 0;
    if desc.host_addressable {
        flags |= OVERT_DEVICE_FLAG_HOST_ADDRESSABLE;
    }
    if P::Device::PEER {
        flags |= OVERT_DEVICE_FLAG_PEER;
    }
    let facts = desc.facts.iter().map(|(n, v)| arena.fact(n, v)).collect();
    let (facts, fact_count) = arena.list(facts);
    let arch = arena.arch(&desc.arch);
    OvertDeviceInfo {
        size: size_of::<OvertDeviceInfo>() as u32,
        kind: desc.kind.raw(),
        flags,
        fact_count,
        id: arena.text(&desc.id),
        name: arena.text(&desc.name),
        driver: arena.text(&desc.driver),
        pci: arena.text(&desc.pci),
        arch: arena.one(arch),
        facts,
        memory_bytes: desc.memory_bytes,
    }
}

pub(crate) unsafe extern "C" fn destroy<P: Provider>(instance: *mut OvertInstance) {
    if instance.is_null() {
        return;
    }
    // SAFETY: objects; the host hands it over and uses it no more.
    let boxed = unsafe { Box::from_raw(instance.cast::<InstanceBox<P>>()) };
    let host = boxed.host;
    void("provider_destroy", Some(host), || drop(boxed));
}

pub(crate) unsafe extern "C" fn device_count<P: Provider>(
    instance: *mut OvertInstance,
    count: *mut u32,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects, outs.
        unsafe {
            let instance: &InstanceBox<P> = reference(instance, "instance")?;
            write(count, "count", instance.infos.len() as u32)
        }
    })
}

fn known<P: Provider>(instance: &InstanceBox<P>, index: u32) -> Result<&OvertDeviceInfo> {
    instance.infos.get(index as usize).ok_or_else(|| {
        Error::invalid(format!(
            "provider `{}` has no device {index}; it has {}",
            P::NAME,
            instance.infos.len()
        ))
    })
}

pub(crate) unsafe extern "C" fn device_info<P: Provider>(
    instance: *mut OvertInstance,
    index: u32,
    info: *mut *const OvertDeviceInfo,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects, outs.
        unsafe {
            let instance: &InstanceBox<P> = reference(instance, "instance")?;
            write(info, "info", std::ptr::from_ref(known(instance, index)?))
        }
    })
}

pub(crate) unsafe extern "C" fn device_open<P: Provider>(
    instance: *mut OvertInstance,
    index: u32,
    import: *const OvertImport,
    device: *mut *mut OvertDevice,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        check_out(device, "device")?;
        // SAFETY: objects.
        let instance: &InstanceBox<P> = unsafe { reference(instance, "instance") }?;
        known(instance, index)?;
        let context = if import.is_null() {
            None
        } else {
            // SAFETY: arguments.
            let import: &OvertImport = unsafe {
                super::sized(import, "import")?;
                reference(import, "import")?
            };
            if import.kind != OVERT_IMPORT_CONTEXT {
                return Err(Error::invalid(format!(
                    "import kind {} is not a context",
                    import.kind
                )));
            }
            Some(import)
        };
        let shared = Arc::new(Shared {
            device: instance.provider.open(index as usize, context)?,
            host: instance.host,
            kernels: table::<P>()?.kernels,
        });
        let made = Box::new(DeviceBox { shared });
        // SAFETY: outs.
        unsafe { write(device, "device", Box::into_raw(made).cast()) }
    })
}

pub(crate) unsafe extern "C" fn device_close<P: Provider>(device: *mut OvertDevice) {
    if device.is_null() {
        return;
    }
    // SAFETY: objects; the host hands it over and uses it no more.
    let boxed = unsafe { Box::from_raw(device.cast::<DeviceBox<P::Device>>()) };
    let host = boxed.shared.host;
    void("device_close", Some(host), || drop(boxed));
}

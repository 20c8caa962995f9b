//! Entries of memory.

use super::{DeviceBox, ObjectBox, entry, null, reference, sized, void, write};
use crate::device::{Allocation, Device};
use crate::text::Sink;
use crate::{Error, Result};
use overt_abi::*;
use std::ffi::c_void;

type StreamBox<D> = ObjectBox<D, <D as Device>::Stream>;

/// # Safety
/// outs; the size was checked.
unsafe fn store(out: *mut OvertAllocation, made: Allocation) {
    // SAFETY: the caller's promise.
    unsafe {
        *out = OvertAllocation {
            size: (*out).size,
            reserved: 0,
            handle: made.handle,
            address: made.address,
            bytes: made.bytes,
            alignment: made.alignment,
            host_address: made.host_address,
        };
    }
}

pub(crate) unsafe extern "C" fn alloc<D: Device>(
    device: *mut OvertDevice,
    bytes: u64,
    alignment: u64,
    flags: u32,
    allocation: *mut OvertAllocation,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        if bytes == 0 {
            return Err(Error::invalid(
                "an allocation of 0 bytes; wanted at least 1",
            ));
        }
        if alignment != 0 && !alignment.is_power_of_two() {
            return Err(Error::invalid(format!(
                "alignment {alignment} is not a power of two"
            )));
        }
        if flags & !OVERT_MEMORY_HOST_VISIBLE != 0 {
            return Err(Error::unsupported(format!(
                "memory flags {flags:#x}: all are required and only {OVERT_MEMORY_HOST_VISIBLE:#x} is known"
            )));
        }
        let host_visible = flags & OVERT_MEMORY_HOST_VISIBLE != 0;
        // SAFETY: objects, outs.
        unsafe {
            sized(allocation, "allocation")?;
            let device: &DeviceBox<D> = reference(device, "device")?;
            store(
                allocation,
                device.shared.device.alloc(bytes, alignment, host_visible)?,
            );
        }
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn free<D: Device>(device: *mut OvertDevice, handle: u64) {
    // SAFETY: objects.
    let Ok(device) = (unsafe { reference::<DeviceBox<D>, _>(device, "device") }) else {
        return;
    };
    void("memory_free", Some(device.shared.host), || {
        device.shared.device.free(handle);
    });
}

pub(crate) unsafe extern "C" fn import<D: Device>(
    device: *mut OvertDevice,
    import: *const OvertImport,
    allocation: *mut OvertAllocation,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects, arguments, outs.
        unsafe {
            sized(allocation, "allocation")?;
            sized(import, "import")?;
            let device: &DeviceBox<D> = reference(device, "device")?;
            let made = device.shared.device.import(reference(import, "import")?)?;
            store(allocation, made);
        }
        Ok(())
    })
}

/// The length of host memory, which must fit this host's addresses.
fn host_range(pointer: *const c_void, bytes: u64, what: &str) -> Result<usize> {
    if pointer.is_null() && bytes > 0 {
        return Err(null(what));
    }
    isize::try_from(bytes)
        .map(isize::unsigned_abs)
        .map_err(|_| {
            Error::invalid(format!(
                "`{what}` of {bytes} bytes exceeds the address space"
            ))
        })
}

pub(crate) unsafe extern "C" fn copy_in<D: Device>(
    stream: *mut OvertStream,
    handle: u64,
    byte_offset: u64,
    source: *const c_void,
    bytes: u64,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        let len = host_range(source, bytes, "source")?;
        // SAFETY: objects; the host vouches for `bytes` readable bytes during the entry.
        let (stream, source) = unsafe {
            let stream: &StreamBox<D> = reference(stream, "stream")?;
            let source = if len == 0 {
                &[]
            } else {
                std::slice::from_raw_parts(source.cast::<u8>(), len)
            };
            (stream, source)
        };
        let device = &stream.shared.device;
        device.copy_in(&stream.object, handle, byte_offset, source)
    })
}

pub(crate) unsafe extern "C" fn copy_out<D: Device>(
    stream: *mut OvertStream,
    handle: u64,
    byte_offset: u64,
    target: *mut c_void,
    bytes: u64,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        host_range(target, bytes, "target")?;
        // SAFETY: objects; the host vouches that the target stays valid until the stream has passed the copy.
        unsafe {
            let stream: &StreamBox<D> = reference(stream, "stream")?;
            let device = &stream.shared.device;
            device.copy_out(&stream.object, handle, byte_offset, target.cast(), bytes)
        }
    })
}

pub(crate) unsafe extern "C" fn copy_out_sync<D: Device>(
    stream: *mut OvertStream,
    handle: u64,
    byte_offset: u64,
    target: *mut c_void,
    bytes: u64,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        host_range(target, bytes, "target")?;
        // SAFETY: objects; the host vouches that the target is valid during the entry.
        unsafe {
            let stream: &StreamBox<D> = reference(stream, "stream")?;
            let device = &stream.shared.device;
            device.copy_out_sync(&stream.object, handle, byte_offset, target.cast(), bytes)
        }
    })
}

pub(crate) unsafe extern "C" fn copy<D: Device>(
    stream: *mut OvertStream,
    target: u64,
    target_offset: u64,
    source: u64,
    source_offset: u64,
    bytes: u64,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects.
        let stream: &StreamBox<D> = unsafe { reference(stream, "stream") }?;
        stream.shared.device.copy(
            &stream.object,
            (target, target_offset),
            (source, source_offset),
            bytes,
        )
    })
}

pub(crate) unsafe extern "C" fn fill<D: Device>(
    stream: *mut OvertStream,
    handle: u64,
    byte_offset: u64,
    value: u8,
    bytes: u64,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects.
        let stream: &StreamBox<D> = unsafe { reference(stream, "stream") }?;
        let device = &stream.shared.device;
        device.fill(&stream.object, handle, byte_offset, value, bytes)
    })
}

pub(crate) unsafe extern "C" fn peer_access<D: Device>(
    device: *mut OvertDevice,
    peer: *mut OvertDevice,
    access: *mut u32,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects, outs.
        unsafe {
            let device: &DeviceBox<D> = reference(device, "device")?;
            let peer: &DeviceBox<D> = reference(peer, "peer")?;
            let found = device.shared.device.peer_access(&peer.shared.device)?;
            Sink::new(sink).write(&found.reason);
            write(access, "access", found.bits)
        }
    })
}

pub(crate) unsafe extern "C" fn copy_peer<D: Device>(
    stream: *mut OvertStream,
    target: u64,
    target_offset: u64,
    source_device: *mut OvertDevice,
    source: u64,
    source_offset: u64,
    bytes: u64,
    sink: *const OvertSink,
) -> OvertStatus {
    entry(sink, || {
        // SAFETY: objects.
        let (stream, peer): (&StreamBox<D>, &DeviceBox<D>) = unsafe {
            (
                reference(stream, "stream")?,
                reference(source_device, "source_device")?,
            )
        };
        stream.shared.device.copy_peer(
            &stream.object,
            (target, target_offset),
            &peer.shared.device,
            (source, source_offset),
            bytes,
        )
    })
}

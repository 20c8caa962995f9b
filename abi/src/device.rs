//! Devices, as a provider describes them.

use crate::{OvertArch, OvertFact, OvertStr};

/// One piece of hardware as one provider sees it. Valid until the instance is destroyed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OvertDeviceInfo {
    /// `sizeof(OvertDeviceInfo)` as the provider knows it.
    pub size: u32,
    /// One of the `OVERT_DEVICE_…` kinds, as the driver states it.
    pub kind: u32,
    /// `OVERT_DEVICE_FLAG_…` bits.
    pub flags: u32,
    /// Number of `facts`.
    pub fact_count: u32,
    /// Stable over restarts and equal in every library that sees this device: a UUID or a PCI address, prefixed by which
    /// (`uuid:…`, `pci:0000:41:00.0`). Devices are joined by this, never by index.
    pub id: OvertStr,
    /// The marketing name.
    pub name: OvertStr,
    /// Driver and its version.
    pub driver: OvertStr,
    /// PCI address `domain:bus:device.function`, empty if unknown.
    pub pci: OvertStr,
    /// What it is.
    pub arch: *const OvertArch,
    /// Features and limits, which guards test as `device.<name>`.
    pub facts: *const OvertFact,
    /// Memory in bytes, 0 if unknown.
    pub memory_bytes: u64,
}

/// The driver does not say.
pub const OVERT_DEVICE_UNKNOWN: u32 = 0;
/// A real device.
pub const OVERT_DEVICE_HARDWARE: u32 = 1;
/// A driver that computes on the CPU.
pub const OVERT_DEVICE_SOFTWARE: u32 = 2;
/// An interpreter of another device's machine code.
pub const OVERT_DEVICE_INTERPRETED: u32 = 3;

/// Every allocation of this device has a `host_address`, equal to its `address`, and the device can address any host memory
/// through an `OVERT_IMPORT_HOST_POINTER`. Declared, never inferred.
pub const OVERT_DEVICE_FLAG_HOST_ADDRESSABLE: u32 = 1;
/// `peer_access` and `memory_copy_peer` may be asked.
pub const OVERT_DEVICE_FLAG_PEER: u32 = 2;

/// Memory that a device gave out or took in.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertAllocation {
    /// `sizeof(OvertAllocation)` as the host knows it.
    pub size: u32,
    /// Reserved, zero.
    pub reserved: u32,
    /// Names it to the provider; never 0.
    pub handle: u64,
    /// Device address of its first byte, 0 where the backend has none.
    pub address: u64,
    /// Its size in bytes, at least what was asked for.
    pub bytes: u64,
    /// A power of two that divides its address.
    pub alignment: u64,
    /// Where the host may read and write it whenever no work on it is pending, coherently; 0: it may not. It need not equal
    /// `address`.
    pub host_address: u64,
}

/// Asks `memory_alloc` for memory with a `host_address`: pinned or mapped, so that copies to and from it need no staging. Required:
/// a provider that cannot give it answers `OVERT_E_UNSUPPORTED`.
pub const OVERT_MEMORY_HOST_VISIBLE: u32 = 1;

/// A native object that the host brings: an engine's own stream or memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OvertImport {
    /// `sizeof(OvertImport)` as the host knows it.
    pub size: u32,
    /// One of the `OVERT_IMPORT_…` kinds.
    pub kind: u32,
    /// The native handle or pointer, as an integer. A null stream means the driver's own default stream.
    pub native: u64,
    /// Size in bytes, for memory.
    pub bytes: u64,
}

/// A device pointer. The host keeps it alive until it is released here.
pub const OVERT_IMPORT_DEVICE_POINTER: u32 = 1;
/// A host pointer that the device shall address. Provider may refuse.
pub const OVERT_IMPORT_HOST_POINTER: u32 = 2;
/// A stream or queue of the driver.
pub const OVERT_IMPORT_STREAM: u32 = 3;
/// A context of the driver; taken by `device_open`. The host keeps it alive until the device is closed.
pub const OVERT_IMPORT_CONTEXT: u32 = 4;

/// The device can address the peer's memory directly.
pub const OVERT_PEER_DIRECT: u32 = 1;
/// The direct path was written and read back, and the bytes were right. Without it the copy is staged through the host.
pub const OVERT_PEER_PROVEN: u32 = 2;

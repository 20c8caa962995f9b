//! Allocations: memory of one device, freed by the provider that gave it.

use crate::error::Error;
use crate::registry::Device;
use overt_abi::{
    OVERT_IMPORT_DEVICE_POINTER, OVERT_IMPORT_HOST_POINTER, OVERT_MEMORY_HOST_VISIBLE,
    OvertAllocation, OvertImport,
};
use std::sync::Arc;

/// What memory is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MemoryKind {
    /// Wherever the device works fastest.
    #[default]
    Device,
    /// Also readable and writable by the host, at [`Allocation::host_address`].
    HostVisible,
}

/// Memory of one device. Shared by the tensors that view it; freed when the last is gone *and* every stream has passed the
/// work that may use it. May be dropped on any thread; dropping never waits.
pub struct Allocation {
    device: Device,
    raw: OvertAllocation,
    imported: bool,
    /// Tells the owner of imported memory that it is no longer used.
    release: Option<Release>,
}

/// What is called once no work can use imported memory any more.
pub(crate) type Release = Box<dyn FnOnce() + Send + Sync>;

impl Allocation {
    /// Allocates `bytes` (0 is taken as 1) aligned to `alignment`, a power of two or 0 for the device's own.
    pub fn new(
        device: &Device,
        bytes: u64,
        alignment: u64,
        kind: MemoryKind,
    ) -> Result<Arc<Allocation>, Error> {
        let flags = match kind {
            MemoryKind::Device => 0,
            MemoryKind::HostVisible => OVERT_MEMORY_HOST_VISIBLE,
        };
        let raw = device.alloc(bytes.max(1), alignment, flags)?;
        Ok(Arc::new(Allocation {
            device: device.clone(),
            raw,
            imported: false,
            release: None,
        }))
    }

    /// Takes in memory of the device that somebody else owns, an engine's say.
    ///
    /// # Safety
    ///
    /// `address` is a device address of at least `bytes` bytes. It stays valid until this allocation, every tensor and graph
    /// that views it, and all work enqueued on them are gone.
    pub unsafe fn import_device(
        device: &Device,
        address: u64,
        bytes: u64,
    ) -> Result<Arc<Allocation>, Error> {
        // SAFETY: passed on to the caller.
        unsafe { Self::import(device, OVERT_IMPORT_DEVICE_POINTER, address, bytes) }.map(Arc::new)
    }

    /// Takes in host memory that the device shall address.
    ///
    /// # Safety
    ///
    /// As [`Allocation::import_device`], for `bytes` bytes of host memory at `pointer`; while work on it is pending the host
    /// does not write it, nor read what is written by that work.
    pub unsafe fn import_host(
        device: &Device,
        pointer: *const u8,
        bytes: u64,
    ) -> Result<Arc<Allocation>, Error> {
        // SAFETY: passed on to the caller.
        unsafe { Self::import(device, OVERT_IMPORT_HOST_POINTER, pointer as u64, bytes) }
            .map(Arc::new)
    }

    /// # Safety
    ///
    /// As the public forms, for `native` of this kind.
    pub(crate) unsafe fn import(
        device: &Device,
        kind: u32,
        native: u64,
        bytes: u64,
    ) -> Result<Allocation, Error> {
        let import = OvertImport {
            size: size_of::<OvertImport>() as u32,
            kind,
            native,
            bytes,
        };
        let raw = device.import_memory(&import)?;
        Ok(Allocation {
            device: device.clone(),
            raw,
            imported: true,
            release: None,
        })
    }

    /// The same, with somebody to tell when no work can use it any more.
    pub(crate) fn owned_by(mut self, release: Release) -> Allocation {
        self.release = Some(release);
        self
    }

    /// The device it belongs to.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its size in bytes, at least what was asked for.
    pub fn bytes(&self) -> u64 {
        self.raw.bytes
    }

    /// A power of two that divides its address.
    pub fn alignment(&self) -> u64 {
        self.raw.alignment.max(1)
    }

    /// Device address of the first byte, 0 where the backend has none.
    pub fn address(&self) -> u64 {
        self.raw.address
    }

    /// Where the host may access it while no work on it is pending; `None` where it may not.
    pub fn host_address(&self) -> Option<u64> {
        (self.raw.host_address != 0).then_some(self.raw.host_address)
    }

    /// Somebody else owns the memory, so other allocations may name it too.
    pub(crate) fn is_imported(&self) -> bool {
        self.imported
    }

    /// The provider's handle.
    pub(crate) fn handle(&self) -> u64 {
        self.raw.handle
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.device.retire(self.raw.handle, self.release.take());
    }
}

impl std::fmt::Debug for Allocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Allocation")
            .field("device", &self.device)
            .field("raw", &self.raw)
            .field("imported", &self.imported)
            .finish_non_exhaustive()
    }
}

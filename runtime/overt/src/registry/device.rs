//! Devices: opened on first use, with every kernel set up once.

use super::DeviceInfo;
use super::instance::{Instance, entry};
use super::kernel::OpenKernel;
use crate::error::Error;
use crate::ffi::Words;
use crate::memory::Release;
use overt_abi::{OvertAllocation, OvertDevice, OvertDeviceInfo, OvertImport, OvertStatus};
use parking_lot::Mutex;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// One device of one provider. Cheap to clone; clones are the same device. `Send` and `Sync`. Opened when first needed, closed
/// when the last stream, tensor and handle of it is gone.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    /// Number in the runtime, stable for its life.
    number: u32,
    /// Index in the provider.
    index: u32,
    name: String,
    info: DeviceInfo,
    described: Described,
    instance: Arc<Instance>,
    opened: OnceLock<Opened>,
    opening: Mutex<()>,
    kernels: Box<[Mutex<Option<Arc<OpenKernel>>>]>,
}

/// The provider's own description, for its guard callbacks. Lives as long as the instance and is never written.
struct Described(*const OvertDeviceInfo);

// SAFETY: immutable for the life of the instance, which the device holds.
unsafe impl Send for Described {}
// SAFETY: as above.
unsafe impl Sync for Described {}

struct Opened(NonNull<OvertDevice>);

// SAFETY: the ABI lets any thread use an opened device; opening and closing are serialised by `opening` and by `Drop`.
unsafe impl Send for Opened {}
// SAFETY: as above.
unsafe impl Sync for Opened {}

impl Device {
    pub(crate) fn new(
        number: u32,
        index: u32,
        info: DeviceInfo,
        described: *const OvertDeviceInfo,
        instance: Arc<Instance>,
    ) -> Device {
        let kernels = instance
            .provider
            .decl
            .kernels
            .iter()
            .map(|_| Mutex::new(None))
            .collect();
        Device(Arc::new(Inner {
            number,
            index,
            name: format!("{}:{index}", instance.name()),
            info,
            described: Described(described),
            instance,
            opened: OnceLock::new(),
            opening: Mutex::new(()),
            kernels,
        }))
    }

    /// Its name: provider and index, `cpu:0`.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What its provider says of it.
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// Name of its provider.
    pub fn provider(&self) -> &str {
        self.0.instance.name()
    }

    /// The provider's own description of it.
    pub(crate) fn info_raw(&self) -> *const OvertDeviceInfo {
        self.0.described.0
    }

    pub(crate) fn number(&self) -> u32 {
        self.0.number
    }

    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.0.instance
    }

    /// Tells devices apart while they live: two that are equal in this are the same.
    #[inline]
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Whether both are the same device of the same runtime.
    pub(crate) fn same(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Opens the device, once; a failure is not remembered.
    pub(crate) fn raw(&self) -> Result<*mut OvertDevice, Error> {
        if let Some(opened) = self.0.opened.get() {
            return Ok(opened.0.as_ptr());
        }
        let _one = self.0.opening.lock();
        if let Some(opened) = self.0.opened.get() {
            return Ok(opened.0.as_ptr());
        }
        let instance = &self.0.instance;
        let open = entry(
            instance.api().device_open,
            &instance.provider.decl,
            "device_open",
        )?;
        let mut words = Words::default();
        let sink = words.sink();
        let mut raw = std::ptr::null_mut();
        // SAFETY: instance and index are the provider's own; the out-pointer and sink are valid; one thread opens at a time.
        let status = unsafe {
            open(
                instance.raw(),
                self.0.index,
                std::ptr::null(),
                &mut raw,
                &sink,
            )
        };
        instance.check("device_open", status, &mut words)?;
        let raw = NonNull::new(raw).ok_or_else(|| {
            Error::provider(
                instance.name(),
                "device_open",
                status,
                "it returned no device".into(),
            )
        })?;
        Ok(self.0.opened.get_or_init(|| Opened(raw)).0.as_ptr())
    }

    /// Sets a kernel up, exactly once however many threads ask; a failure is reported to its caller and tried again next time.
    pub(crate) fn kernel(&self, index: u32) -> Result<Arc<OpenKernel>, Error> {
        let device = self.raw()?;
        let mut slot = self.0.kernels[index as usize].lock();
        if let Some(kernel) = slot.as_ref() {
            return Ok(kernel.clone());
        }
        let instance = &self.0.instance;
        let open = entry(
            instance.api().kernel_open,
            &instance.provider.decl,
            "kernel_open",
        )?;
        let mut words = Words::default();
        let sink = words.sink();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the device is open and the index is one of the provider's kernels; the lock makes this the only opening.
        let status = unsafe { open(device, index, &mut raw, &sink) };
        instance.check("kernel_open", status, &mut words)?;
        let raw = NonNull::new(raw).ok_or_else(|| {
            Error::provider(
                instance.name(),
                "kernel_open",
                status,
                "it returned no kernel".into(),
            )
        })?;
        let kernel = Arc::new(OpenKernel::new(raw));
        *slot = Some(kernel.clone());
        Ok(kernel)
    }

    pub(crate) fn alloc(
        &self,
        bytes: u64,
        alignment: u64,
        flags: u32,
    ) -> Result<OvertAllocation, Error> {
        let device = self.raw()?;
        let instance = &self.0.instance;
        let alloc = entry(
            instance.api().memory_alloc,
            &instance.provider.decl,
            "memory_alloc",
        )?;
        let attempt = || {
            let mut words = Words::default();
            let sink = words.sink();
            let mut allocation = empty_allocation();
            // SAFETY: the device is open; out-pointer and sink are valid for the call.
            let status = unsafe { alloc(device, bytes, alignment, flags, &mut allocation, &sink) };
            instance
                .check("memory_alloc", status, &mut words)
                .map(|()| allocation)
        };
        let allocation = match attempt() {
            Err(error) if error.is_out_of_memory() => {
                // What waits only because nobody synchronised lately may be free by now.
                instance.retired.reap();
                attempt()?
            }
            other => other?,
        };
        self.trust(allocation, bytes, "memory_alloc")
    }

    pub(crate) fn import_memory(&self, import: &OvertImport) -> Result<OvertAllocation, Error> {
        let device = self.raw()?;
        let instance = &self.0.instance;
        let take = entry(
            instance.api().memory_import,
            &instance.provider.decl,
            "memory_import",
        )?;
        let mut words = Words::default();
        let sink = words.sink();
        let mut allocation = empty_allocation();
        // SAFETY: the device is open; the pointers are valid for the call; the memory is vouched for by the caller.
        let status = unsafe { take(device, import, &mut allocation, &sink) };
        instance.check("memory_import", status, &mut words)?;
        self.trust(allocation, import.bytes, "memory_import")
    }

    /// Believes an allocation only if it is at least what was asked for.
    fn trust(
        &self,
        mut allocation: OvertAllocation,
        bytes: u64,
        entry: &'static str,
    ) -> Result<OvertAllocation, Error> {
        if allocation.handle == 0 || allocation.bytes < bytes {
            let words = format!(
                "it returned handle {} of {} bytes for a request of {bytes}",
                allocation.handle, allocation.bytes
            );
            if allocation.handle != 0 {
                self.retire(allocation.handle, None);
            }
            return Err(Error::provider(
                self.provider(),
                entry,
                overt_abi::OVERT_OK,
                words,
            ));
        }
        if allocation.address.checked_add(allocation.bytes).is_none() {
            let words = format!(
                "it returned {} bytes at address {:#x}, which wraps",
                allocation.bytes, allocation.address
            );
            self.retire(allocation.handle, None);
            return Err(Error::provider(
                self.provider(),
                entry,
                overt_abi::OVERT_OK,
                words,
            ));
        }
        if !allocation.alignment.is_power_of_two() {
            allocation.alignment = 1;
        }
        if allocation.address != 0 {
            // Guards are asked what the address really is divisible by.
            let real = 1 << allocation.address.trailing_zeros().min(63);
            allocation.alignment = allocation.alignment.min(real);
        }
        Ok(allocation)
    }

    /// Frees memory once no stream can use it any more, and then tells its owner, if it has another.
    pub(crate) fn retire(&self, handle: u64, release: Option<Release>) {
        let device = self.clone();
        self.0.instance.retired.retire(Box::new(move || {
            if let (Some(opened), Some(free)) =
                (device.0.opened.get(), device.0.instance.api().memory_free)
            {
                // SAFETY: the handle came from this device and is given back once; no stream has work on it any more.
                unsafe { free(opened.0.as_ptr(), handle) };
            }
            if let Some(release) = release {
                release();
            }
        }));
    }

    /// Turns a status into a result, in this provider's name.
    pub(crate) fn check(
        &self,
        name: &'static str,
        status: OvertStatus,
        words: &mut Words,
    ) -> Result<(), Error> {
        self.0.instance.check(name, status, words)
    }
}

fn empty_allocation() -> OvertAllocation {
    OvertAllocation {
        size: size_of::<OvertAllocation>() as u32,
        reserved: 0,
        handle: 0,
        address: 0,
        bytes: 0,
        alignment: 0,
        host_address: 0,
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let api = self.instance.api();
        for slot in &mut self.kernels {
            if let (Some(kernel), Some(close)) = (slot.get_mut().take(), api.kernel_close) {
                // SAFETY: streams hold the device, so no work is pending; each kernel is closed once.
                unsafe { close(kernel.raw()) };
            }
        }
        if let (Some(opened), Some(close)) = (self.opened.get(), api.device_close) {
            // SAFETY: streams, tensors and graphs hold the device, so all of them are gone.
            unsafe { close(opened.0.as_ptr()) };
        }
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Device").field(&self.0.name).finish()
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.name)
    }
}

//! Allocations: a buffer each, named by a handle, with a device address.

use ash::vk;
use gpu_allocator::vulkan::{
    Allocation as Piece, AllocationCreateDesc, AllocationScheme, Allocator,
};
use gpu_allocator::{AllocationError, MemoryLocation};
use overt_sdk::{Allocation, Error, Result};
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Least alignment of an allocation, so that wide loads need no guard on it.
const ALIGNMENT: u64 = 256;

/// Size from which an allocation has device memory for itself rather than a piece of a block.
const DEDICATED: u64 = 32 << 20;

/// A buffer and its memory.
pub struct Block {
    pub buffer: vk::Buffer,
    /// Device address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// Where the host sees it, if it does.
    pub mapped: Option<Mapped>,
    /// Whether the host reads it through its caches; without, it is read slowly, if at all.
    pub cached: bool,
    piece: Mutex<Option<Piece>>,
}

/// A host address.
#[derive(Clone, Copy)]
pub struct Mapped(*mut u8);

// SAFETY: mapped device memory belongs to no thread; who may touch it when is the rule of each use.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    pub fn ptr(self) -> *mut u8 {
        self.0
    }
}

/// What a block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Operands of kernels.
    Device,
    /// Operands that the host sees too.
    Shared,
    /// The host writes, the device reads.
    Upload,
    /// The device writes, the host reads.
    Download,
}

/// Why there is no memory. The allocator tells one result of `vkAllocateMemory` apart and puts the others into words.
fn refused(bytes: u64, error: AllocationError) -> Error {
    let words = match error {
        AllocationError::OutOfMemory => {
            return Error::out_of_memory(format!("{bytes} bytes of device memory"));
        }
        other => format!("allocating {bytes} bytes: {other}"),
    };
    let names = |result: vk::Result| words.contains(&format!("{result:?}"));
    if names(vk::Result::ERROR_OUT_OF_HOST_MEMORY) || names(vk::Result::ERROR_TOO_MANY_OBJECTS) {
        // Memory that is given back helps against both.
        return Error::out_of_memory(words);
    }
    Error::internal(words)
}

/// The memory of a device.
pub struct Memory {
    allocator: Mutex<Option<Allocator>>,
    blocks: RwLock<HashMap<u64, Arc<Block>>>,
    next: AtomicU64,
    most: u64,
}

impl Memory {
    pub fn new(allocator: Allocator, most: u64) -> Memory {
        Memory {
            allocator: Mutex::new(Some(allocator)),
            blocks: RwLock::new(HashMap::new()),
            next: AtomicU64::new(1),
            most,
        }
    }

    /// A block that no handle names.
    pub fn block(&self, raw: &ash::Device, bytes: u64, what: Use) -> Result<Block> {
        if bytes > self.most {
            return Err(Error::out_of_memory(format!(
                "{bytes} bytes in one piece; this driver gives {} at most (device.limit.allocation_bytes)",
                self.most
            )));
        }
        let bytes = bytes.max(1).next_multiple_of(4);
        let info = vk::BufferCreateInfo::default()
            .size(bytes)
            .usage(
                vk::BufferUsageFlags::STORAGE_BUFFER
                    | vk::BufferUsageFlags::TRANSFER_SRC
                    | vk::BufferUsageFlags::TRANSFER_DST
                    | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS,
            )
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        // SAFETY: the device is alive while its memory is.
        let buffer = unsafe { raw.create_buffer(&info, None) }
            .map_err(|e| crate::loader::failed("vkCreateBuffer", e))?;
        let made = self.bind(raw, buffer, bytes, what);
        if made.is_err() {
            // SAFETY: nothing uses the buffer.
            unsafe { raw.destroy_buffer(buffer, None) };
        }
        made
    }

    fn bind(&self, raw: &ash::Device, buffer: vk::Buffer, bytes: u64, what: Use) -> Result<Block> {
        // SAFETY: the buffer was just made from this device.
        let mut requirements = unsafe { raw.get_buffer_memory_requirements(buffer) };
        requirements.alignment = requirements.alignment.max(ALIGNMENT);
        let mut guard = self.allocator.lock();
        let allocator = guard
            .as_mut()
            .ok_or_else(|| Error::internal("the device's memory is closed"))?;
        let piece = allocator
            .allocate(&AllocationCreateDesc {
                name: "overt",
                requirements,
                location: match what {
                    Use::Device => MemoryLocation::GpuOnly,
                    Use::Shared | Use::Upload => MemoryLocation::CpuToGpu,
                    Use::Download => MemoryLocation::GpuToCpu,
                },
                linear: true,
                allocation_scheme: if bytes >= DEDICATED {
                    AllocationScheme::DedicatedBuffer(buffer)
                } else {
                    AllocationScheme::GpuAllocatorManaged
                },
            })
            .map_err(|e| refused(bytes, e))?;
        // SAFETY: the piece is fresh, of the buffer's requirements, and bound once.
        let bound = unsafe { raw.bind_buffer_memory(buffer, piece.memory(), piece.offset()) };
        if let Err(error) = bound {
            // A piece that cannot be given back stays with the allocator until the device closes.
            let _ = allocator.free(piece);
            return Err(crate::loader::failed("vkBindBufferMemory", error));
        }
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer);
        // SAFETY: the buffer is bound and made for device addresses.
        let address = unsafe { raw.get_buffer_device_address(&info) };
        let properties = piece.memory_properties();
        let coherent = properties.contains(vk::MemoryPropertyFlags::HOST_COHERENT);
        let mapped = piece.mapped_ptr().filter(|_| coherent);
        Ok(Block {
            buffer,
            address,
            bytes,
            mapped: mapped.map(|p| Mapped(p.as_ptr().cast())),
            cached: properties.contains(vk::MemoryPropertyFlags::HOST_CACHED),
            piece: Mutex::new(Some(piece)),
        })
    }

    /// Gives a block back.
    ///
    /// # Safety
    /// No pending work uses it, and nobody will.
    pub unsafe fn release(&self, raw: &ash::Device, block: &Block) {
        let piece = block.piece.lock().take();
        let Some(piece) = piece else { return };
        // SAFETY: the caller's promise.
        unsafe { raw.destroy_buffer(block.buffer, None) };
        if let Some(allocator) = self.allocator.lock().as_mut() {
            // It fails for pieces of another allocator alone.
            let _ = allocator.free(piece);
        }
    }

    /// An allocation for the host.
    pub fn alloc(
        &self,
        raw: &ash::Device,
        bytes: u64,
        alignment: u64,
        visible: bool,
    ) -> Result<Allocation> {
        if alignment > ALIGNMENT {
            return Err(Error::unsupported(format!(
                "an alignment of {alignment}; allocations are aligned to {ALIGNMENT}"
            )));
        }
        let what = if visible { Use::Shared } else { Use::Device };
        let block = self.block(raw, bytes, what)?;
        let host_address = match (visible, block.mapped) {
            (true, Some(mapped)) => mapped.0 as u64,
            (true, None) => {
                // SAFETY: nothing knows it yet.
                unsafe { self.release(raw, &block) };
                return Err(Error::unsupported(
                    "this device has no memory that the host sees",
                ));
            }
            (false, _) => 0,
        };
        let handle = self.next.fetch_add(1, Ordering::Relaxed);
        let made = Allocation {
            handle,
            address: block.address,
            bytes: block.bytes,
            alignment: ALIGNMENT.min(1 << block.address.trailing_zeros().min(62)),
            host_address,
        };
        self.blocks.write().insert(handle, Arc::new(block));
        Ok(made)
    }

    /// Frees an allocation of the host's.
    pub fn free(&self, raw: &ash::Device, handle: u64) {
        let block = self.blocks.write().remove(&handle);
        if let Some(block) = block {
            // SAFETY: the host frees what no work uses.
            unsafe { self.release(raw, &block) };
        }
    }

    /// The block of a handle, which has to hold this range.
    pub fn resolve(&self, handle: u64, offset: u64, bytes: u64, what: &str) -> Result<Arc<Block>> {
        let block = self.blocks.read().get(&handle).cloned();
        let block =
            block.ok_or_else(|| Error::invalid(format!("{what}: no allocation {handle}")))?;
        match offset.checked_add(bytes) {
            Some(end) if end <= block.bytes => Ok(block),
            _ => Err(Error::invalid(format!(
                "{what}: {bytes} bytes from {offset} on; the allocation has {}",
                block.bytes
            ))),
        }
    }

    /// Gives all of it back.
    ///
    /// # Safety
    /// No work is pending on the device.
    pub unsafe fn destroy(&self, raw: &ash::Device) {
        let blocks: Vec<_> = self.blocks.write().drain().collect();
        for (_, block) in blocks {
            // SAFETY: the caller's promise.
            unsafe { self.release(raw, &block) };
        }
        *self.allocator.lock() = None;
    }
}

//! Allocations by handle. A handle holds its slot's generation, so one that was freed is known to be stale.

use crate::device::Allocation;
use crate::{Error, Result};
use parking_lot::RwLock;
use std::alloc::{Layout, alloc_zeroed, dealloc};

struct Region {
    base: *mut u8,
    bytes: u64,
    /// What to give back to the allocator; none for an import.
    owned: Option<(*mut u8, Layout)>,
}

// SAFETY: the region only owns memory; who may touch it when is the host's affair, ordered by streams.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Drop for Region {
    fn drop(&mut self) {
        if let Some((start, layout)) = self.owned {
            // SAFETY: allocated with this very layout, freed once.
            unsafe { dealloc(start, layout) }
        }
    }
}

#[derive(Default)]
struct Slot {
    generation: u32,
    region: Option<Region>,
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    vacant: Vec<u32>,
}

/// The allocations of one device.
#[derive(Default)]
pub(crate) struct Memory {
    slots: RwLock<Slots>,
}

const LEAST_ALIGNMENT: u64 = 64;

impl Memory {
    /// Allocates zeroed memory. It is over-allocated and aligned by hand, so that large blocks come from the system already
    /// zero instead of being cleared again.
    pub(crate) fn alloc(&self, bytes: u64, alignment: u64) -> Result<Allocation> {
        let alignment = alignment.max(LEAST_ALIGNMENT);
        let no_memory = || {
            Error::out_of_memory(format!(
                "{bytes} bytes aligned to {alignment}: out of memory"
            ))
        };
        let total = bytes.checked_add(alignment).ok_or_else(no_memory)?;
        let total = usize::try_from(total).map_err(|_| no_memory())?;
        let layout = Layout::from_size_align(total, 16).map_err(|_| no_memory())?;
        // SAFETY: the size is not zero, since the alignment is not.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            return Err(no_memory());
        }
        let gap = start.align_offset(alignment as usize);
        let region = Region {
            // SAFETY: the gap is below the alignment, which was added to the size.
            base: unsafe { start.add(gap) },
            bytes,
            owned: Some((start, layout)),
        };
        Ok(self.insert(region))
    }

    /// Takes in memory that the host keeps alive.
    pub(crate) fn import(&self, address: u64, bytes: u64) -> Result<Allocation> {
        if address == 0 || bytes == 0 || address.checked_add(bytes).is_none() {
            return Err(Error::invalid(format!(
                "import of {bytes} bytes at address {address:#x}; wanted a host pointer and its size"
            )));
        }
        Ok(self.insert(Region {
            base: address as usize as *mut u8,
            bytes,
            owned: None,
        }))
    }

    fn insert(&self, region: Region) -> Allocation {
        let (address, bytes) = (region.base as usize as u64, region.bytes);
        let mut slots = self.slots.write();
        let index = slots.vacant.pop().unwrap_or_else(|| {
            slots.slots.push(Slot::default());
            (slots.slots.len() - 1) as u32
        });
        let slot = &mut slots.slots[index as usize];
        slot.region = Some(region);
        Allocation {
            // The generation in the upper half, the slot from 1 in the lower, so that no handle is 0.
            handle: u64::from(slot.generation) << 32 | u64::from(index + 1),
            address,
            bytes,
            host_address: address,
            // More than a page says nothing that anyone asks.
            alignment: 1 << address.trailing_zeros().min(12),
        }
    }

    /// Frees; `false` when the handle is unknown or stale.
    pub(crate) fn free(&self, handle: u64) -> bool {
        let mut slots = self.slots.write();
        let slots = &mut *slots;
        let Some(slot) = find_mut(&mut slots.slots, handle) else {
            return false;
        };
        slot.region = None;
        slot.generation = slot.generation.wrapping_add(1);
        slots.vacant.push((handle as u32) - 1);
        true
    }

    /// The address of `bytes` bytes at an offset of an allocation. `what` names the operand in the error.
    pub(crate) fn resolve(
        &self,
        handle: u64,
        offset: u64,
        bytes: u64,
        what: impl Fn() -> String,
    ) -> Result<*mut u8> {
        let slots = self.slots.read();
        let region = find(&slots.slots, handle).ok_or_else(|| {
            Error::invalid(format!(
                "{}: handle {handle:#x} is not an allocation of this device (never was, or freed)",
                what()
            ))
        })?;
        match offset.checked_add(bytes) {
            // SAFETY: the offset is inside the region or at its end.
            Some(end) if end <= region.bytes => Ok(unsafe { region.base.add(offset as usize) }),
            _ => Err(Error::invalid(format!(
                "{}: bytes {offset}..{offset}+{bytes} of an allocation of {} bytes",
                what(),
                region.bytes
            ))),
        }
    }
}

fn find(slots: &[Slot], handle: u64) -> Option<&Region> {
    let slot = slots.get((handle as u32).checked_sub(1)? as usize)?;
    if slot.generation != (handle >> 32) as u32 {
        return None;
    }
    slot.region.as_ref()
}

fn find_mut(slots: &mut [Slot], handle: u64) -> Option<&mut Slot> {
    let slot = slots.get_mut((handle as u32).checked_sub(1)? as usize)?;
    (slot.generation == (handle >> 32) as u32 && slot.region.is_some()).then_some(slot)
}

//! Allocations by handle. A handle holds its slot's generation, so one that was freed is known to be stale, and its device's number, so
//! that one device does not take another's for its own.

#[cfg(target_os = "linux")]
use super::{
    large_pages::Mapping,
    pool::{self, Piece, Pool},
};
use crate::device::Allocation;
use crate::{Error, Result};
use parking_lot::RwLock;
use std::alloc::{Layout, alloc_zeroed, dealloc};
#[cfg(target_os = "linux")]
use std::sync::Arc;

struct Region {
    base: *mut u8,
    bytes: u64,
    /// What gives it back when dropped; an import has an owner elsewhere.
    _owner: Owner,
}

#[allow(dead_code, reason = "each is held for its drop")]
enum Owner {
    Elsewhere,
    Heap(Heap),
    #[cfg(target_os = "linux")]
    Piece(Piece),
    #[cfg(target_os = "linux")]
    Mapping(Mapping),
}

/// Memory of the process's own allocator.
struct Heap(*mut u8, Layout);

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: allocated with this very layout, freed once.
        unsafe { dealloc(self.0, self.1) }
    }
}

// SAFETY: the region only owns memory; who may touch it when is the host's affair, ordered by streams.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

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
pub(crate) struct Memory {
    slots: RwLock<Slots>,
    #[cfg(target_os = "linux")]
    pool: Arc<Pool>,
    /// What every handle of this device begins with.
    device: u64,
}

/// Bits of a handle, from the lowest: the slot, counted from 1 so that no handle is 0; its generation; the device. Sixteen million live
/// allocations are more than any model has tensors. Devices that are 4096 apart in the order in which the process made them have the
/// same number, as have generations that are 2^28 apart.
const SLOT_BITS: u32 = 24;
const DEVICE_BITS: u32 = 12;
const DEVICE_AT: u32 = u64::BITS - DEVICE_BITS;
const MOST_SLOTS: usize = (1 << SLOT_BITS) - 1;
const GENERATIONS: u64 = (1 << (DEVICE_AT - SLOT_BITS)) - 1;

const LEAST_ALIGNMENT: u64 = 64;

impl Memory {
    /// No allocations yet, of the device of this number.
    pub(crate) fn of(device: u64) -> Self {
        Self {
            slots: RwLock::default(),
            #[cfg(target_os = "linux")]
            pool: Arc::default(),
            device: device << DEVICE_AT,
        }
    }

    /// Allocates zeroed memory: large tensors in large pages of their own, those of some size in pages that they share, small ones from the
    /// process's allocator.
    pub(crate) fn alloc(&self, bytes: u64, alignment: u64) -> Result<Allocation> {
        let alignment = alignment.max(LEAST_ALIGNMENT);
        let region = usize::try_from(bytes)
            .ok()
            .zip(usize::try_from(alignment).ok())
            .and_then(|(bytes, alignment)| self.region(bytes, alignment));
        self.insert(region.ok_or_else(|| {
            Error::out_of_memory(format!(
                "{bytes} bytes aligned to {alignment}: out of memory"
            ))
        })?)
    }

    #[cfg(target_os = "linux")]
    fn region(&self, bytes: usize, alignment: usize) -> Option<Region> {
        let (base, owner) = match bytes {
            0..pool::LEAST => return heap(bytes, alignment),
            pool::LEAST..=pool::MOST if alignment <= pool::MOST => {
                let piece = self.pool.cut(bytes, alignment)?;
                (piece.base(), Owner::Piece(piece))
            }
            _ => {
                let mapping = Mapping::new(bytes, alignment)?;
                (mapping.base(), Owner::Mapping(mapping))
            }
        };
        Some(Region {
            base,
            bytes: bytes as u64,
            _owner: owner,
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn region(&self, bytes: usize, alignment: usize) -> Option<Region> {
        heap(bytes, alignment)
    }

    /// Takes in memory that the host keeps alive.
    pub(crate) fn import(&self, address: u64, bytes: u64) -> Result<Allocation> {
        if address == 0 || bytes == 0 || address.checked_add(bytes).is_none() {
            return Err(Error::invalid(format!(
                "import of {bytes} bytes at address {address:#x}; wanted a host pointer and its size"
            )));
        }
        self.insert(Region {
            base: address as usize as *mut u8,
            bytes,
            _owner: Owner::Elsewhere,
        })
    }

    fn insert(&self, region: Region) -> Result<Allocation> {
        let (address, bytes) = (region.base as usize as u64, region.bytes);
        let mut slots = self.slots.write();
        let index = match slots.vacant.pop() {
            Some(index) => index,
            None if slots.slots.len() < MOST_SLOTS => {
                slots.slots.push(Slot::default());
                (slots.slots.len() - 1) as u32
            }
            None => {
                return Err(Error::out_of_memory(format!(
                    "{MOST_SLOTS} allocations are live; there are no handles for more"
                )));
            }
        };
        let slot = &mut slots.slots[index as usize];
        slot.region = Some(region);
        let generation = u64::from(slot.generation) & GENERATIONS;
        Ok(Allocation {
            handle: self.device | generation << SLOT_BITS | u64::from(index + 1),
            address,
            bytes,
            host_address: address,
            // More than a page says nothing that anyone asks.
            alignment: 1 << address.trailing_zeros().min(12),
        })
    }

    /// Frees; `false` when the handle is unknown or stale.
    pub(crate) fn free(&self, handle: u64) -> bool {
        let mut slots = self.slots.write();
        let Some(index) = self.find(&slots, handle) else {
            return false;
        };
        let slot = &mut slots.slots[index];
        slot.region = None;
        slot.generation = slot.generation.wrapping_add(1);
        slots.vacant.push(index as u32);
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
        let found = self.find(&slots, handle);
        let region = found.and_then(|index| slots.slots[index].region.as_ref());
        let region = region.ok_or_else(|| {
            Error::invalid(format!(
                "{}: handle {handle:#x} is not an allocation of this device (of another, never was, or freed)",
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

    /// The slot of a live allocation of this device.
    fn find(&self, slots: &Slots, handle: u64) -> Option<usize> {
        let index = (handle as usize & MOST_SLOTS).checked_sub(1)?;
        let slot = slots.slots.get(index)?;
        let generation = u64::from(slot.generation) & GENERATIONS;
        let whole = self.device | generation << SLOT_BITS | (index as u64 + 1);
        (whole == handle && slot.region.is_some()).then_some(index)
    }
}

/// Over-allocated and aligned by hand, so that large blocks come from the system already zero instead of being cleared again.
fn heap(bytes: usize, alignment: usize) -> Option<Region> {
    let layout = Layout::from_size_align(bytes.checked_add(alignment)?, 16).ok()?;
    // SAFETY: the size is not zero, since the alignment is not.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return None;
    }
    let gap = start.align_offset(alignment);
    Some(Region {
        // SAFETY: the gap is below the alignment, which was added to the size.
        base: unsafe { start.add(gap) },
        bytes: bytes as u64,
        _owner: Owner::Heap(Heap(start, layout)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(memory: &Memory, handle: u64) -> bool {
        memory.resolve(handle, 0, 8, String::new).is_ok()
    }

    #[test]
    fn a_handle_is_of_one_device_and_of_one_allocation() {
        let (a, b) = (Memory::of(1), Memory::of(2));
        let [x, y] = [&a, &b].map(|memory| memory.alloc(8, 0).unwrap().handle);
        assert!(live(&a, x) && live(&b, y));
        assert!(!live(&a, y) && !live(&b, x));
        assert!(!a.free(y) && live(&b, y));
        assert!(a.free(x) && !live(&a, x) && !a.free(x));
        // The slot is used again, under another handle.
        let z = a.alloc(8, 0).unwrap().handle;
        assert!(z != x && live(&a, z) && !live(&a, x));
    }

    #[test]
    fn what_no_memory_gave_is_not_live() {
        let memory = Memory::of(0);
        let x = memory.alloc(8, 0).unwrap().handle;
        for bad in [0, x + 1, x | 1 << SLOT_BITS, x | 1 << DEVICE_AT, u64::MAX] {
            assert!(!live(&memory, bad) && !memory.free(bad), "{bad:#x}");
        }
    }

    #[test]
    fn generations_go_round_without_touching_the_device() {
        let memory = Memory::of(5);
        let x = memory.alloc(8, 0).unwrap().handle;
        memory.slots.write().slots[0].generation = u32::MAX;
        assert!(!live(&memory, x));
        let y = memory.device | GENERATIONS << SLOT_BITS | 1;
        assert!(live(&memory, y) && memory.free(y));
        let z = memory.alloc(8, 0).unwrap().handle;
        assert_eq!(z >> DEVICE_AT, 5);
        assert!(live(&memory, z) && z == x);
    }
}

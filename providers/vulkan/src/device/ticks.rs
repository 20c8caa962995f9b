//! Times on the device: a slot of a query pool for each recording of an event.

use crate::loader::failed;
use crate::physical::Limits;
use ash::vk;
use overt_sdk::{Error, Result};
use parking_lot::Mutex;

/// Slots of one pool.
const SLOTS: u32 = 256;

/// Query pools, grown as events ask.
pub struct Ticks {
    pools: Mutex<Pools>,
    nanoseconds: f64,
    mask: u64,
}

#[derive(Default)]
struct Pools {
    all: Vec<vk::QueryPool>,
    free: Vec<Slot>,
}

/// One query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub pool: vk::QueryPool,
    pub index: u32,
}

impl Ticks {
    pub fn new(limits: &Limits) -> Ticks {
        Ticks {
            pools: Mutex::default(),
            nanoseconds: limits.tick,
            mask: match limits.tick_bits {
                64.. => u64::MAX,
                bits => (1 << bits) - 1,
            },
        }
    }

    /// A slot that nothing pending writes; `None` on a device without a clock.
    pub fn take(&self, raw: &ash::Device) -> Result<Option<Slot>> {
        if self.nanoseconds == 0.0 {
            return Ok(None);
        }
        let mut pools = self.pools.lock();
        if pools.free.is_empty() {
            let info = vk::QueryPoolCreateInfo::default()
                .query_type(vk::QueryType::TIMESTAMP)
                .query_count(SLOTS);
            // SAFETY: the device is alive.
            let pool = unsafe { raw.create_query_pool(&info, None) }
                .map_err(|e| failed("vkCreateQueryPool", e))?;
            pools.all.push(pool);
            pools
                .free
                .extend((0..SLOTS).rev().map(|index| Slot { pool, index }));
        }
        Ok(pools.free.pop())
    }

    /// Gives a slot back once its writing has passed.
    pub fn give(&self, slot: Slot) {
        self.pools.lock().free.push(slot);
    }

    /// The tick that a slot holds.
    pub fn read(&self, raw: &ash::Device, slot: Slot) -> Result<u64> {
        let mut value = [0_u64; 1];
        // SAFETY: the slot is one of the pool's.
        unsafe {
            raw.get_query_pool_results(
                slot.pool,
                slot.index,
                &mut value,
                vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT,
            )
        }
        .map_err(|e| failed("vkGetQueryPoolResults", e))?;
        Ok(value[0])
    }

    /// Nanoseconds from one tick to another; negative when the second was first.
    pub fn between(&self, start: u64, end: u64) -> Result<f64> {
        if self.nanoseconds == 0.0 {
            return Err(Error::unsupported("this device has no clock"));
        }
        // Ticks wrap around at their number of bits; the shorter way round is meant.
        let forward = end.wrapping_sub(start) & self.mask;
        let backward = start.wrapping_sub(end) & self.mask;
        Ok(if forward <= backward {
            forward as f64 * self.nanoseconds
        } else {
            -(backward as f64 * self.nanoseconds)
        })
    }

    /// # Safety
    /// No work is pending on the device.
    pub unsafe fn destroy(&self, raw: &ash::Device) {
        for pool in self.pools.lock().all.drain(..) {
            // SAFETY: the caller's promise.
            unsafe { raw.destroy_query_pool(pool, None) };
        }
    }
}

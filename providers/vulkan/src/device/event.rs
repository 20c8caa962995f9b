//! Events: points of timelines, with the device's time.

use super::gpu::Gpu;
use super::ticks::Slot;
use super::timeline::Timeline;
use overt_sdk::{Error, Result};
use parking_lot::Mutex;
use std::sync::Arc;

/// A slot for a time, given back when neither event nor batch needs it.
pub struct SlotHold {
    pub slot: Slot,
    gpu: Arc<Gpu>,
}

impl SlotHold {
    /// `None` on a device without a clock.
    pub fn take(gpu: &Arc<Gpu>) -> Result<Option<Arc<SlotHold>>> {
        let slot = gpu.ticks.take(&gpu.raw)?;
        Ok(slot.map(|slot| {
            Arc::new(SlotHold {
                slot,
                gpu: gpu.clone(),
            })
        }))
    }
}

impl Drop for SlotHold {
    fn drop(&mut self) {
        self.gpu.ticks.give(self.slot);
    }
}

/// Where an event stands.
#[derive(Clone)]
pub struct Recorded {
    pub timeline: Arc<Timeline>,
    pub value: u64,
    pub slot: Option<Arc<SlotHold>>,
}

/// An event. Recording it again moves it.
#[derive(Default)]
pub struct VulkanEvent {
    state: Mutex<Option<Recorded>>,
}

impl VulkanEvent {
    pub fn set(&self, recorded: Recorded) {
        *self.state.lock() = Some(recorded);
    }

    pub fn recorded(&self) -> Result<Recorded> {
        self.state
            .lock()
            .clone()
            .ok_or_else(|| Error::invalid("the event was never recorded"))
    }

    pub fn passed(&self) -> Result<bool> {
        let recorded = self.recorded()?;
        Ok(recorded.timeline.value()? >= recorded.value)
    }

    pub fn sync(&self) -> Result<()> {
        let recorded = self.recorded()?;
        recorded.timeline.wait(recorded.value)
    }

    /// The tick at which it was passed; `None` while it is pending.
    pub fn tick(&self, gpu: &Gpu) -> Result<Option<u64>> {
        let recorded = self.recorded()?;
        if recorded.timeline.value()? < recorded.value {
            return Ok(None);
        }
        let slot = recorded
            .slot
            .as_ref()
            .ok_or_else(|| Error::unsupported("this device has no clock"))?;
        gpu.ticks.read(&gpu.raw, slot.slot).map(Some)
    }
}

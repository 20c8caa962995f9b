//! The timeline of a stream: a counter on the device that each batch raises when it is done.

use super::gpu::Gpu;
use ash::vk;
use overt_sdk::Result;
use std::sync::Arc;
use std::time::Duration;

/// A wait in pieces of this, so that a device that is lost meanwhile is seen.
const PATIENCE: Duration = Duration::from_secs(1);

/// A timeline semaphore.
pub struct Timeline {
    pub raw: vk::Semaphore,
    gpu: Arc<Gpu>,
}

impl Timeline {
    pub fn new(gpu: &Arc<Gpu>) -> Result<Timeline> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the device is alive, and timelines are enabled.
        let raw = unsafe { gpu.raw.create_semaphore(&info, None) }
            .map_err(|e| gpu.failed("vkCreateSemaphore", e))?;
        Ok(Timeline {
            raw,
            gpu: gpu.clone(),
        })
    }

    /// How far it is.
    pub fn value(&self) -> Result<u64> {
        self.gpu.alive()?;
        // SAFETY: the semaphore is alive.
        unsafe { self.gpu.raw.get_semaphore_counter_value(self.raw) }
            .map_err(|e| self.gpu.failed("vkGetSemaphoreCounterValue", e))
    }

    /// Blocks until it is so far.
    pub fn wait(&self, value: u64) -> Result<()> {
        let semaphores = [self.raw];
        let values = [value];
        let info = vk::SemaphoreWaitInfo::default()
            .semaphores(&semaphores)
            .values(&values);
        loop {
            self.gpu.alive()?;
            // SAFETY: the semaphore is alive, and the lists live during the call.
            match unsafe {
                self.gpu
                    .raw
                    .wait_semaphores(&info, PATIENCE.as_nanos() as u64)
            } {
                Ok(()) => return Ok(()),
                Err(vk::Result::TIMEOUT) => {}
                Err(e) => return Err(self.gpu.failed("vkWaitSemaphores", e)),
            }
        }
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        // SAFETY: whoever has a batch pending holds the timeline until it is done.
        unsafe { self.gpu.raw.destroy_semaphore(self.raw, None) }
    }
}

//! Captures: command buffers that are played again and again.

use super::gpu::Gpu;
use super::tape::Tape;
use ash::vk;
use overt_sdk::Result;
use std::sync::Arc;

/// A finished capture.
pub struct VulkanGraph {
    pub inner: Arc<GraphInner>,
}

/// A capture, under way or finished. Batches that play it hold it.
pub struct GraphInner {
    pub tape: Tape,
    pool: vk::CommandPool,
    gpu: Arc<Gpu>,
}

impl GraphInner {
    pub fn begin(gpu: &Arc<Gpu>) -> Result<GraphInner> {
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(gpu.family);
        // SAFETY: the device is alive.
        let pool = unsafe { gpu.raw.create_command_pool(&info, None) }
            .map_err(|e| gpu.failed("vkCreateCommandPool", e))?;
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .level(vk::CommandBufferLevel::SECONDARY)
            .command_buffer_count(1);
        // SAFETY: the pool is fresh and this capture's alone.
        let made = unsafe { gpu.raw.allocate_command_buffers(&info) }
            .map_err(|e| gpu.failed("vkAllocateCommandBuffers", e))
            .and_then(|buffers| Tape::begin(gpu, buffers[0], true));
        match made {
            Ok(tape) => Ok(GraphInner {
                tape,
                pool,
                gpu: gpu.clone(),
            }),
            Err(error) => {
                // SAFETY: nothing uses the pool.
                unsafe { gpu.raw.destroy_command_pool(pool, None) };
                Err(error)
            }
        }
    }

    /// Ends the capture.
    pub fn finish(self) -> Result<VulkanGraph> {
        self.tape.end(&self.gpu)?;
        Ok(VulkanGraph {
            inner: Arc::new(self),
        })
    }
}

impl Drop for GraphInner {
    fn drop(&mut self) {
        // SAFETY: whoever plays the capture holds it, so nothing is pending.
        unsafe { self.gpu.raw.destroy_command_pool(self.pool, None) }
    }
}

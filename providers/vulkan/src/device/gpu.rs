//! What streams, events, graphs and memory of a device share: the driver's device, its queue, its allocator.

use super::disk::Disk;
use super::memory::Memory;
use super::pipelines::Pipelines;
use super::ticks::Ticks;
use crate::loader::{Instance, failed};
use crate::physical::{Features, Limits, Physical};
use ash::vk;
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use overt_sdk::host::Recorder;
use overt_sdk::{Error, Host, Level, Result};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An open device. The last holder destroys it.
pub struct Gpu {
    pub raw: ash::Device,
    pub instance: Arc<Instance>,
    pub family: u32,
    pub limits: Limits,
    pub features: Features,
    pub memory: Memory,
    pub pipelines: Pipelines,
    pub ticks: Ticks,
    pub recorder: Recorder,
    /// Submitting needs the queue alone.
    queue: Mutex<vk::Queue>,
    lost: AtomicBool,
    host: Host,
    validation: bool,
}

impl Gpu {
    pub fn open(
        host: Host,
        instance: Arc<Instance>,
        physical: &Physical,
        cache: Option<&Path>,
        validation: bool,
        recorder: &Recorder,
    ) -> Result<Gpu> {
        let raw = physical
            .features
            .make(&instance, physical.raw, physical.family)?;
        let made = parts(&instance, &raw, physical, cache, &host);
        let (memory, pipelines, ticks) = match made {
            Ok(parts) => parts,
            Err(error) => {
                // SAFETY: nothing made from the device is left.
                unsafe { raw.destroy_device(None) };
                return Err(error);
            }
        };
        // SAFETY: the family has the one queue that the device was made with.
        let queue = unsafe { raw.get_device_queue(physical.family, 0) };
        Ok(Gpu {
            raw,
            instance,
            family: physical.family,
            limits: physical.limits,
            features: physical.features.clone(),
            memory,
            pipelines,
            ticks,
            recorder: recorder.clone(),
            queue: Mutex::new(queue),
            lost: AtomicBool::new(false),
            host,
            validation,
        })
    }

    /// An error of a driver's function. A lost device stays lost.
    pub fn failed(&self, function: &str, result: vk::Result) -> Error {
        if result == vk::Result::ERROR_DEVICE_LOST {
            self.lost.store(true, Ordering::Release);
        }
        failed(function, result)
    }

    /// An error when the device is lost.
    pub fn alive(&self) -> Result<()> {
        match self.lost.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(Error::device_lost(
                "the device was lost; its work and memory are gone: close it and open it again",
            )),
        }
    }

    /// Submits one batch.
    pub fn submit(&self, info: &vk::SubmitInfo<'_>) -> Result<()> {
        self.alive()?;
        let queue = self.queue.lock();
        // SAFETY: the queue is locked, and the caller's command buffers and semaphores live until the batch is done.
        unsafe { self.raw.queue_submit(*queue, &[*info], vk::Fence::null()) }
            .map_err(|e| self.failed("vkQueueSubmit", e))
    }

    /// Hands on what layers and drivers have said. Under validation what the layer calls an error is one.
    pub fn listen(&self) -> Result<()> {
        let mut first = None;
        for said in self.instance.heard() {
            let grave = said.starts_with("ERROR");
            let level = if grave { Level::Error } else { Level::Warning };
            self.host.log(level, &said);
            if grave && self.validation && first.is_none() {
                first = Some(Error::internal(said));
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// Tells the host something.
    pub fn log(&self, level: Level, words: &str) {
        self.host.log(level, words);
    }
}

/// What is made from a fresh device, all or nothing.
fn parts(
    instance: &Instance,
    raw: &ash::Device,
    physical: &Physical,
    cache: Option<&Path>,
    host: &Host,
) -> Result<(Memory, Pipelines, Ticks)> {
    let allocator = Allocator::new(&AllocatorCreateDesc {
        instance: instance.raw.clone(),
        device: raw.clone(),
        physical_device: physical.raw,
        debug_settings: Default::default(),
        buffer_device_address: true,
        allocation_sizes: Default::default(),
    })
    .map_err(|e| Error::internal(format!("the allocator of device memory: {e}")))?;
    let disk = cache.map(|folder| Disk::of(folder, physical));
    let pipelines = Pipelines::new(
        raw,
        instance,
        disk,
        physical.features.has("executable_properties"),
        host,
    )?;
    let ticks = Ticks::new(&physical.limits);
    Ok((
        Memory::new(allocator, physical.limits.allocation_bytes),
        pipelines,
        ticks,
    ))
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: nobody else holds the device any more, so no call on it is under way; everything made from it is destroyed before it.
        unsafe {
            // A lost device has no work to wait for.
            let _ = self.raw.device_wait_idle();
            self.memory.destroy(&self.raw);
            self.pipelines.destroy(&self.raw, &self.host);
            self.ticks.destroy(&self.raw);
            self.raw.destroy_device(None);
        }
    }
}

//! Compiled kernels: each shader with its constants once, and a cache of the driver's that may be kept on disk.

use super::disk::Disk;
use super::reports::Reports;
use crate::kernel::Shader;
use crate::loader::{Instance, failed};
use ash::vk;
use overt_sdk::{Error, Host, Level, Result};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of push constants that every device has.
pub const PUSH_BYTES: u32 = 128;

/// A compiled shader with its constants set.
pub struct Pipeline {
    pub raw: vk::Pipeline,
    pub shader: &'static Shader,
    pub block: [u32; 3],
    pub shared_bytes: u32,
}

/// What distinguishes pipelines: the shader by its place in memory, since each is one static, and the constants.
type Key = (usize, Vec<u32>);

/// All pipelines of a device.
pub struct Pipelines {
    pub layout: vk::PipelineLayout,
    cache: vk::PipelineCache,
    made: Mutex<HashMap<Key, Arc<Pipeline>>>,
    modules: Mutex<HashMap<usize, vk::ShaderModule>>,
    disk: Option<Disk>,
    /// Pipelines made since the last writing to disk.
    fresh: AtomicUsize,
    reports: Option<Reports>,
    host: Host,
}

impl Pipelines {
    pub fn new(
        raw: &ash::Device,
        instance: &Instance,
        disk: Option<Disk>,
        reported: bool,
        host: &Host,
    ) -> Result<Pipelines> {
        let ranges = [vk::PushConstantRange::default()
            .stage_flags(vk::ShaderStageFlags::COMPUTE)
            .size(PUSH_BYTES)];
        let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&ranges);
        // SAFETY: the device is alive, and every device takes so many bytes.
        let layout = unsafe { raw.create_pipeline_layout(&info, None) }
            .map_err(|e| failed("vkCreatePipelineLayout", e))?;
        let kept = match disk.as_ref().map(Disk::read) {
            Some(Ok(kept)) => kept,
            Some(Err(why)) => {
                host.log(Level::Warning, &why);
                None
            }
            None => None,
        };
        let make = |data: &[u8]| {
            let info = vk::PipelineCacheCreateInfo::default().initial_data(data);
            // SAFETY: the device is alive; the data was written by this very driver for this very device, by the key in the file.
            unsafe { raw.create_pipeline_cache(&info, None) }
        };
        // A driver that refuses its own data compiles anew.
        let cache = make(kept.as_deref().unwrap_or(&[])).or_else(|_| make(&[]));
        let cache = cache.map_err(|e| {
            // SAFETY: nothing uses the layout.
            unsafe { raw.destroy_pipeline_layout(layout, None) };
            failed("vkCreatePipelineCache", e)
        })?;
        Ok(Pipelines {
            layout,
            cache,
            made: Mutex::default(),
            modules: Mutex::default(),
            disk,
            fresh: AtomicUsize::new(0),
            reports: reported.then(|| Reports::new(instance, raw)),
            host: *host,
        })
    }

    /// The pipeline of a shader with these constants: the block's size, then the shader's own. Compiles where it is new; two threads that ask
    /// for the same at once get the same.
    pub fn get(
        &self,
        raw: &ash::Device,
        shader: &'static Shader,
        block: [u32; 3],
        constants: &[u32],
        shared_bytes: u32,
    ) -> Result<Arc<Pipeline>> {
        let mut all = Vec::with_capacity(3 + constants.len());
        all.extend(block);
        all.extend(constants);
        let key = (std::ptr::from_ref(shader) as usize, all);
        // Held while compiling: drivers compile on one thread or lock for themselves, and nothing is compiled twice.
        let mut made = self.made.lock();
        if let Some(found) = made.get(&key) {
            return Ok(found.clone());
        }
        let module = self.module(raw, shader)?;
        let entries: Vec<_> = (0..key.1.len() as u32)
            .map(|i| {
                vk::SpecializationMapEntry::default()
                    .constant_id(i)
                    .offset(4 * i)
                    .size(4)
            })
            .collect();
        let data: Vec<u8> = key.1.iter().flat_map(|w| w.to_ne_bytes()).collect();
        let constants = vk::SpecializationInfo::default()
            .map_entries(&entries)
            .data(&data);
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"main")
            .specialization_info(&constants);
        let info = vk::ComputePipelineCreateInfo::default()
            .stage(stage)
            .layout(self.layout)
            .flags(match self.reports {
                Some(_) => vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR,
                None => vk::PipelineCreateFlags::empty(),
            });
        // SAFETY: module and layout are the device's, and constants and names live during the call.
        let found = unsafe { raw.create_compute_pipelines(self.cache, &[info], None) };
        let pipeline = match found {
            Ok(pipelines) => pipelines[0],
            Err((_, error)) => {
                return Err(Error::new(
                    failed("", error).status,
                    format!("vkCreateComputePipelines of `{}`: {error:?}", shader.symbol),
                ));
            }
        };
        self.fresh.fetch_add(1, Ordering::Relaxed);
        if let Some(reports) = &self.reports {
            let words = reports.of(pipeline);
            self.host.log(
                Level::Detail,
                &format!("`{}` with {:?}: {words}", shader.symbol, key.1),
            );
        }
        let pipeline = Arc::new(Pipeline {
            raw: pipeline,
            shader,
            block,
            shared_bytes,
        });
        made.insert(key, pipeline.clone());
        Ok(pipeline)
    }

    fn module(&self, raw: &ash::Device, shader: &'static Shader) -> Result<vk::ShaderModule> {
        let mut modules = self.modules.lock();
        let key = std::ptr::from_ref(shader) as usize;
        if let Some(module) = modules.get(&key) {
            return Ok(*module);
        }
        let words = shader.words();
        let info = vk::ShaderModuleCreateInfo::default().code(&words);
        // SAFETY: the code is SPIR-V that the compiler wrote and the validator passed.
        let module = unsafe { raw.create_shader_module(&info, None) }
            .map_err(|e| failed("vkCreateShaderModule", e))?;
        modules.insert(key, module);
        Ok(module)
    }

    /// Writes what is new to disk, and destroys all.
    ///
    /// No pipeline is in use: called when the device goes.
    pub fn destroy(&self, raw: &ash::Device, host: &Host) {
        if let Some(disk) = &self.disk
            && self.fresh.swap(0, Ordering::Relaxed) > 0
        {
            // SAFETY: the cache is alive until below.
            let written = match unsafe { raw.get_pipeline_cache_data(self.cache) } {
                Ok(data) => disk.write(&data),
                Err(e) => Err(format!("vkGetPipelineCacheData: {e:?}")),
            };
            if let Err(why) = written {
                host.log(Level::Warning, &why);
            }
        }
        // SAFETY: nothing uses them any more.
        unsafe {
            for (_, pipeline) in self.made.lock().drain() {
                raw.destroy_pipeline(pipeline.raw, None);
            }
            for (_, module) in self.modules.lock().drain() {
                raw.destroy_shader_module(module, None);
            }
            raw.destroy_pipeline_cache(self.cache, None);
            raw.destroy_pipeline_layout(self.layout, None);
        }
    }
}
